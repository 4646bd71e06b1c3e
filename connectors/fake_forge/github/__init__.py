"""GitHub as a fake: REST v3 and the part of GraphQL that project boards need."""
