package toolgate.granted_test

import data.toolgate.granted

test_scopes_of_the_token if {
	_all == {"read", "audit"} with input as _caller([], ["read", "audit", "openid"])
}

test_scopes_of_the_roles if {
	_all == {"read", "write", "execute", "deploy"} with input as _caller(["tenant-admin", "devops"], [])
}

test_both_together if {
	_all == {"read", "audit"} with input as _caller(["viewer"], ["audit"])
}

test_an_unknown_role_brings_nothing if {
	_all == {"read"} with input as _caller(["offline_access"], ["read"])
}

test_nothing_known_about_the_caller if {
	_all == set() with input as {}
}

test_one_of_several if {
	granted.has_one_of(["admin", "read"]) with input as _caller(["viewer"], [])
	not granted.has_one_of(["admin", "write"]) with input as _caller(["viewer"], [])
}

test_the_intersection_takes_what_token_and_roles_grant if {
	_all == {"read"} with input as _both(["viewer"], ["read", "write", "admin"])
	_all == {"read", "write"} with input as _both(["viewer", "tenant-admin"], ["read", "write", "admin"])
	_all == set() with input as _both(["viewer"], [])
	_all == set() with input as _both(["subscriber"], ["read"])
}

test_the_intersection_without_a_known_role_is_the_token if {
	_all == {"read", "write"} with input as _both(["offline_access"], ["read", "write"])
	_all == {"read"} with input as _both([], ["read"])
}

test_a_scope_that_the_roles_withhold_is_not_obtainable if {
	granted.obtainable(["write"]) == ["write"] with input as _caller(["viewer"], [])
	granted.obtainable(["write"]) == [] with input as _both(["viewer"], [])
	granted.obtainable(["read"]) == ["read"] with input as _both(["viewer"], [])
	granted.obtainable(["read", "write"]) == [] with input as _both(["viewer"], ["write"])
}

test_a_confined_role_grants_what_it_lists if {
	granted.by_confined_role with input as _asks("control.portal.list", ["subscriber"], {})
	not granted.by_confined_role with input as _asks("control.apis.list", ["subscriber"], {"own": true})
	not granted.by_confined_role with input as _asks("control.portal.list", ["viewer"], {})
}

test_a_confined_role_grants_on_ones_own if {
	granted.by_confined_role with input as _asks("control.subscriptions.read", ["subscriber"], {"own": true})
	not granted.by_confined_role with input as _asks("control.subscriptions.read", ["subscriber"], {"own": false})
	not granted.by_confined_role with input as _asks("control.subscriptions.read", ["subscriber"], {})
}

_all contains scope if {
	some scopes in data.toolgate.roles
	some scope in scopes
	granted.has(scope)
}

_caller(roles, scopes) := {"subject": {"properties": {"roles": roles, "scopes": scopes}}}

_both(roles, scopes) := {"subject": {"properties": {"roles": roles, "scopes": scopes, "rights": "intersection"}}}

_asks(action, roles, properties) := {
	"subject": {"properties": {"roles": roles, "scopes": []}},
	"action": {"name": action},
	"resource": {"properties": properties},
}
