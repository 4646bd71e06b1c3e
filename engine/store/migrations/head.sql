-- a860952d3e058ae49ad02a10893fc3ecbcd77f73bb61628624718e8be3cf1a48
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0004');
CREATE TABLE artifact (
	run_id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	node_id VARCHAR NOT NULL, 
	version INTEGER NOT NULL, 
	digest VARCHAR NOT NULL, 
	labels TEXT NOT NULL, 
	time VARCHAR(27) NOT NULL, 
	data TEXT, 
	PRIMARY KEY (run_id, name, node_id, version)
)
 WITHOUT ROWID

;
CREATE TABLE attachment (
	run_id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	path TEXT NOT NULL, 
	filename TEXT NOT NULL, 
	mime VARCHAR NOT NULL, 
	size INTEGER NOT NULL, 
	sha256 VARCHAR NOT NULL, 
	origin VARCHAR NOT NULL, 
	PRIMARY KEY (run_id, name)
)
 WITHOUT ROWID

;
CREATE TABLE board_blocker (
	card_id VARCHAR NOT NULL, 
	blocker_id VARCHAR NOT NULL, 
	position INTEGER NOT NULL, 
	PRIMARY KEY (card_id, blocker_id)
);
CREATE TABLE board_card (
	id VARCHAR NOT NULL, 
	board VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	title VARCHAR NOT NULL, 
	body VARCHAR NOT NULL, 
	column_id VARCHAR NOT NULL, 
	column_since VARCHAR NOT NULL, 
	column_by VARCHAR NOT NULL, 
	column_mover VARCHAR NOT NULL, 
	column_run VARCHAR NOT NULL, 
	column_sequence INTEGER NOT NULL, 
	labels VARCHAR NOT NULL, 
	label_keys VARCHAR NOT NULL, 
	priority INTEGER NOT NULL, 
	position FLOAT, 
	assignee VARCHAR NOT NULL, 
	author VARCHAR NOT NULL, 
	bot VARCHAR NOT NULL, 
	bot_args VARCHAR NOT NULL, 
	fields VARCHAR NOT NULL, 
	url VARCHAR NOT NULL, 
	not_before VARCHAR NOT NULL, 
	not_before_at VARCHAR NOT NULL, 
	version INTEGER NOT NULL, 
	created_at VARCHAR NOT NULL, 
	updated_at VARCHAR NOT NULL, 
	archived_at VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT uq_board_card_number UNIQUE (board, number)
);
CREATE TABLE board_column (
	board VARCHAR NOT NULL, 
	id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	title VARCHAR NOT NULL, 
	position INTEGER NOT NULL, 
	eligible BOOLEAN NOT NULL, 
	terminal BOOLEAN NOT NULL, 
	aliases VARCHAR NOT NULL, 
	PRIMARY KEY (board, id), 
	CONSTRAINT uq_board_column_name UNIQUE (board, name)
);
CREATE TABLE board_comment (
	id VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	author_kind VARCHAR NOT NULL, 
	author_name VARCHAR NOT NULL, 
	author_run VARCHAR NOT NULL, 
	text VARCHAR NOT NULL, 
	created_at VARCHAR NOT NULL, 
	edited_at VARCHAR NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE board_event (
	board VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	time VARCHAR NOT NULL, 
	type VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	mover_kind VARCHAR NOT NULL, 
	mover_name VARCHAR NOT NULL, 
	mover_run VARCHAR NOT NULL, 
	data VARCHAR NOT NULL, 
	PRIMARY KEY (board, seq)
);
CREATE TABLE board_field (
	board VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	type VARCHAR NOT NULL, 
	required BOOLEAN NOT NULL, 
	default_value VARCHAR NOT NULL, 
	choices VARCHAR NOT NULL, 
	position INTEGER NOT NULL, 
	PRIMARY KEY (board, name)
);
CREATE TABLE board_meta (
	board VARCHAR NOT NULL, 
	next_number INTEGER NOT NULL, 
	event_seq INTEGER NOT NULL, 
	created_at VARCHAR NOT NULL, 
	PRIMARY KEY (board)
);
CREATE TABLE board_view (
	board VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	"query" VARCHAR NOT NULL, 
	PRIMARY KEY (board, name)
);
CREATE TABLE branch (
	run_id VARCHAR NOT NULL, 
	invocation_key VARCHAR NOT NULL, 
	branch_id VARCHAR NOT NULL, 
	node_id VARCHAR NOT NULL, 
	completed INTEGER NOT NULL, 
	done INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	PRIMARY KEY (run_id, invocation_key, branch_id)
)
 WITHOUT ROWID

;
CREATE TABLE breaker (
	scope VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	cause VARCHAR NOT NULL, 
	count INTEGER NOT NULL, 
	state VARCHAR NOT NULL, 
	window_start TEXT NOT NULL, 
	until TEXT, 
	about VARCHAR NOT NULL, 
	PRIMARY KEY (scope, name)
);
CREATE TABLE card_link (
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	last_run VARCHAR NOT NULL, 
	previous_run VARCHAR NOT NULL, 
	ours BOOLEAN NOT NULL, 
	attempts INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	expected_column VARCHAR NOT NULL, 
	column_sequence INTEGER NOT NULL, 
	handled_sequence INTEGER NOT NULL, 
	workspace VARCHAR NOT NULL, 
	bot VARCHAR NOT NULL, 
	PRIMARY KEY (board, card_id)
);
CREATE TABLE checkpoint (
	run_id VARCHAR NOT NULL, 
	node_id VARCHAR NOT NULL, 
	completed INTEGER NOT NULL, 
	pending TEXT, 
	updated_at VARCHAR(27) NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (run_id)
);
CREATE TABLE claim (
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	epoch INTEGER NOT NULL, 
	run_id VARCHAR NOT NULL, 
	instance VARCHAR NOT NULL, 
	host VARCHAR NOT NULL, 
	boot VARCHAR NOT NULL, 
	pid INTEGER NOT NULL, 
	start_ticks INTEGER NOT NULL, 
	claimed_at TEXT NOT NULL, 
	PRIMARY KEY (board, card_id)
);
CREATE TABLE desired_state (
	id INTEGER NOT NULL, 
	state VARCHAR NOT NULL, 
	"by" VARCHAR NOT NULL, 
	since TEXT NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE effect (
	id VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	node_id VARCHAR NOT NULL, 
	branch_path VARCHAR NOT NULL, 
	iteration_path VARCHAR NOT NULL, 
	attempt INTEGER NOT NULL, 
	connection VARCHAR NOT NULL, 
	operation VARCHAR NOT NULL, 
	effect_class VARCHAR NOT NULL, 
	fingerprint VARCHAR NOT NULL, 
	marker VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	settled_by VARCHAR NOT NULL, 
	stopped_run INTEGER NOT NULL, 
	repeatable INTEGER NOT NULL, 
	dropped_by INTEGER NOT NULL, 
	probes INTEGER NOT NULL, 
	note TEXT NOT NULL, 
	created_at VARCHAR(27) NOT NULL, 
	settled_at VARCHAR(27), 
	probed_at VARCHAR(27), 
	params TEXT, 
	response TEXT, 
	sent_at VARCHAR(27), 
	card VARCHAR NOT NULL, 
	place VARCHAR NOT NULL, 
	http_status INTEGER NOT NULL, 
	pending INTEGER NOT NULL, 
	wire TEXT, 
	asked TEXT, 
	settler VARCHAR NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE event (
	run_id VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	time VARCHAR(27) NOT NULL, 
	type VARCHAR NOT NULL, 
	node_id VARCHAR NOT NULL, 
	branch_id VARCHAR NOT NULL, 
	tenant VARCHAR NOT NULL, 
	active_ms INTEGER NOT NULL, 
	log_offset INTEGER NOT NULL, 
	data TEXT NOT NULL, 
	PRIMARY KEY (run_id, seq)
)
 WITHOUT ROWID

;
CREATE TABLE forge_card (
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	"column" VARCHAR NOT NULL, 
	"by" VARCHAR NOT NULL, 
	mover VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	sequence INTEGER NOT NULL, 
	since TEXT NOT NULL, 
	origin VARCHAR NOT NULL, 
	target VARCHAR NOT NULL, 
	note VARCHAR NOT NULL, 
	entrant VARCHAR NOT NULL, 
	pinned VARCHAR NOT NULL, 
	PRIMARY KEY (board, card_id)
);
CREATE TABLE forge_claim (
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	what VARCHAR NOT NULL, 
	comment_id VARCHAR NOT NULL, 
	instance VARCHAR NOT NULL, 
	epoch INTEGER NOT NULL, 
	state VARCHAR NOT NULL, 
	until TEXT NOT NULL, 
	PRIMARY KEY (board, card_id, what)
);
CREATE TABLE forge_column (
	board VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	configured VARCHAR NOT NULL, 
	label_id VARCHAR NOT NULL, 
	label_name VARCHAR NOT NULL, 
	PRIMARY KEY (board, name)
);
CREATE TABLE forge_delivery (
	forge VARCHAR NOT NULL, 
	delivery_id VARCHAR NOT NULL, 
	board VARCHAR NOT NULL, 
	event VARCHAR NOT NULL, 
	received_at TEXT NOT NULL, 
	PRIMARY KEY (forge, delivery_id)
);
CREATE TABLE forge_limit (
	credential VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	PRIMARY KEY (credential)
);
CREATE TABLE forge_mirror (
	board VARCHAR NOT NULL, 
	source_id VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	"column" VARCHAR NOT NULL, 
	version VARCHAR NOT NULL, 
	PRIMARY KEY (board, source_id)
);
CREATE TABLE forge_store (
	name VARCHAR NOT NULL, 
	identity VARCHAR NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE give_up (
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	attempts INTEGER NOT NULL, 
	code VARCHAR NOT NULL, 
	error VARCHAR NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (board, card_id)
);
CREATE TABLE hook_mark (
	run_id VARCHAR NOT NULL, 
	attempt INTEGER NOT NULL, 
	hook VARCHAR NOT NULL, 
	result VARCHAR NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (run_id, attempt, hook)
);
CREATE TABLE idle_reason (
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	code VARCHAR NOT NULL, 
	text VARCHAR NOT NULL, 
	unblock VARCHAR NOT NULL, 
	facts VARCHAR NOT NULL, 
	since TEXT NOT NULL, 
	PRIMARY KEY (board, card_id)
);
CREATE TABLE intent (
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	instance VARCHAR NOT NULL, 
	point VARCHAR NOT NULL, 
	origin VARCHAR NOT NULL, 
	attended BOOLEAN NOT NULL, 
	opened_at TEXT NOT NULL, 
	PRIMARY KEY (board, card_id)
);
CREATE TABLE interaction (
	run_id VARCHAR NOT NULL, 
	node_id VARCHAR NOT NULL, 
	id VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	asked_at VARCHAR(27) NOT NULL, 
	answered_at VARCHAR(27), 
	retired_at VARCHAR(27), 
	questions TEXT NOT NULL, 
	fields TEXT NOT NULL, 
	answers TEXT, 
	turns TEXT NOT NULL, 
	PRIMARY KEY (run_id, node_id, id)
)
 WITHOUT ROWID

;
CREATE TABLE lease (
	resource VARCHAR NOT NULL, 
	holder VARCHAR NOT NULL, 
	epoch INTEGER NOT NULL, 
	expires_at VARCHAR(27), 
	PRIMARY KEY (resource)
);
CREATE TABLE node_output (
	run_id VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	branch_path VARCHAR NOT NULL, 
	node_id VARCHAR NOT NULL, 
	iteration_path VARCHAR NOT NULL, 
	iteration INTEGER NOT NULL, 
	dropped_by INTEGER NOT NULL, 
	tokens INTEGER NOT NULL, 
	cost_usd FLOAT NOT NULL, 
	duration_ms INTEGER NOT NULL, 
	time VARCHAR(27) NOT NULL, 
	output TEXT NOT NULL, 
	PRIMARY KEY (run_id, seq)
)
 WITHOUT ROWID

;
CREATE TABLE orphan_sighting (
	run_id VARCHAR NOT NULL, 
	seen_at TEXT NOT NULL, 
	stopped BOOLEAN NOT NULL, 
	PRIMARY KEY (run_id)
);
CREATE TABLE park (
	id INTEGER NOT NULL, 
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	reason VARCHAR NOT NULL, 
	"column" VARCHAR NOT NULL, 
	seen BOOLEAN NOT NULL, 
	outcome INTEGER NOT NULL, 
	question VARCHAR NOT NULL, 
	facts VARCHAR NOT NULL, 
	since TEXT NOT NULL, 
	released VARCHAR NOT NULL, 
	released_at TEXT, 
	PRIMARY KEY (id)
);
CREATE TABLE pending_move (
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	origin VARCHAR NOT NULL, 
	"to" VARCHAR NOT NULL, 
	why VARCHAR NOT NULL, 
	effect_id VARCHAR NOT NULL, 
	attempts INTEGER NOT NULL, 
	since TEXT NOT NULL, 
	next_at TEXT NOT NULL, 
	PRIMARY KEY (board, card_id)
);
CREATE TABLE retry (
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	attempt INTEGER NOT NULL, 
	code VARCHAR NOT NULL, 
	cause VARCHAR NOT NULL, 
	ladder VARCHAR NOT NULL, 
	scheduled_at TEXT NOT NULL, 
	not_before TEXT NOT NULL, 
	sequence INTEGER NOT NULL, 
	PRIMARY KEY (board, card_id)
);
CREATE TABLE run (
	id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	workflow VARCHAR NOT NULL, 
	file_path TEXT NOT NULL, 
	bundle_path TEXT NOT NULL, 
	workspace TEXT NOT NULL, 
	digest VARCHAR NOT NULL, 
	preset VARCHAR NOT NULL, 
	parent_id VARCHAR NOT NULL, 
	inputs TEXT NOT NULL, 
	status VARCHAR NOT NULL, 
	failure_code VARCHAR NOT NULL, 
	error TEXT NOT NULL, 
	end_reason VARCHAR NOT NULL, 
	continuation VARCHAR NOT NULL, 
	retry_at VARCHAR(27), 
	retry_after_at VARCHAR(27), 
	outcome_seq INTEGER NOT NULL, 
	outcome_sequence INTEGER NOT NULL, 
	skip_noted INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	event_seq INTEGER NOT NULL, 
	output_seq INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	owner TEXT NOT NULL, 
	stop_request VARCHAR NOT NULL, 
	stop_reason TEXT NOT NULL, 
	explicit_resume_required INTEGER NOT NULL, 
	ask TEXT NOT NULL, 
	raises TEXT, 
	permissions TEXT, 
	rules TEXT, 
	children TEXT, 
	cost_usd_total FLOAT NOT NULL, 
	created_at VARCHAR(27) NOT NULL, 
	updated_at VARCHAR(27) NOT NULL, 
	queued_at VARCHAR(27), 
	claimed_at VARCHAR(27), 
	finished_at VARCHAR(27), 
	last_event_at VARCHAR(27), 
	PRIMARY KEY (id)
);
CREATE TABLE run_source (
	run_id VARCHAR NOT NULL, 
	position INTEGER NOT NULL, 
	path TEXT NOT NULL, 
	main_only INTEGER NOT NULL, 
	digest VARCHAR NOT NULL, 
	PRIMARY KEY (run_id, position)
)
 WITHOUT ROWID

;
CREATE TABLE session (
	run_id VARCHAR NOT NULL, 
	slot VARCHAR NOT NULL, 
	backend VARCHAR NOT NULL, 
	fingerprint VARCHAR NOT NULL, 
	state TEXT NOT NULL, 
	PRIMARY KEY (run_id, slot)
)
 WITHOUT ROWID

;
CREATE TABLE settlement (
	board VARCHAR NOT NULL, 
	card_id VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	outcome INTEGER NOT NULL, 
	follows VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	code VARCHAR NOT NULL, 
	to_column VARCHAR NOT NULL, 
	moved BOOLEAN NOT NULL, 
	commented BOOLEAN NOT NULL, 
	closed BOOLEAN NOT NULL, 
	opened_at TEXT NOT NULL, 
	PRIMARY KEY (board, card_id, run_id, outcome)
);
CREATE TABLE source_text (
	digest VARCHAR NOT NULL, 
	source TEXT NOT NULL, 
	PRIMARY KEY (digest)
)
 WITHOUT ROWID

;
CREATE TABLE spend_day (
	day VARCHAR NOT NULL, 
	"key" VARCHAR NOT NULL, 
	run_id VARCHAR NOT NULL, 
	cost_usd FLOAT NOT NULL, 
	PRIMARY KEY (day, "key")
)
 WITHOUT ROWID

;
CREATE TABLE store_counter (
	name VARCHAR NOT NULL, 
	value INTEGER NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "store_counter" VALUES('sequence',0);
CREATE TABLE tombstone (
	run_id VARCHAR NOT NULL, 
	deleted_at VARCHAR(27) NOT NULL, 
	PRIMARY KEY (run_id)
);
CREATE TABLE workspace_file (
	run_id VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	path VARCHAR NOT NULL, 
	mode INTEGER NOT NULL, 
	hash VARCHAR NOT NULL, 
	skipped VARCHAR NOT NULL, 
	PRIMARY KEY (run_id, seq, path)
)
 WITHOUT ROWID

;
CREATE TABLE workspace_mark (
	run_id VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	label VARCHAR NOT NULL, 
	node_id VARCHAR NOT NULL, 
	parent INTEGER NOT NULL, 
	ref VARCHAR NOT NULL, 
	time VARCHAR(27) NOT NULL, 
	PRIMARY KEY (run_id, seq)
)
 WITHOUT ROWID

;
CREATE INDEX ix_run_created ON run (created_at, id);
CREATE INDEX ix_run_open ON run (status, claimed_at) WHERE status IN ('queued', 'running', 'paused_waiting_human', 'paused_operator');
CREATE INDEX ix_run_outcome ON run (outcome_sequence) WHERE outcome_sequence > 0;
CREATE INDEX ix_run_source_digest ON run_source (digest);
CREATE INDEX ix_effect_run ON effect (run_id, node_id);
CREATE INDEX ix_effect_state ON effect (state);
CREATE INDEX ix_effect_card ON effect (card, place);
CREATE INDEX ix_spend_key ON spend_day ("key", day);
CREATE INDEX ix_board_card_column ON board_card (board, column_id);
CREATE INDEX ix_board_card_order ON board_card (board, priority DESC, (position IS NULL), position, created_at, number, id) WHERE length(archived_at) = 0;
CREATE INDEX ix_board_blocker_blocker ON board_blocker (blocker_id);
CREATE INDEX ix_board_comment_card ON board_comment (card_id, created_at);
CREATE INDEX ix_board_event_card ON board_event (card_id, seq);
CREATE INDEX card_link_last_run ON card_link (last_run);
CREATE UNIQUE INDEX park_open ON park (board, card_id) WHERE released = '';
CREATE INDEX settlement_open ON settlement (closed) WHERE closed = 0;
COMMIT;
