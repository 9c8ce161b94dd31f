package toolgate.rules.tenant_test

import data.toolgate.rules.tenant

test_the_callers_own_tenant if {
	tenant.deny == set() with input as _asks("tools.call", "acme", "acme", [])
}

test_a_resource_of_no_tenant if {
	tenant.deny == set() with input as _asks("tools.call", "acme", null, [])
	tenant.deny == set() with input as _asks("tools.call", null, null, [])
}

test_another_tenants_is_denied if {
	_codes == {"other_tenant"} with input as _asks("tools.call", "acme", "beta", ["read", "execute", "admin"])
	_codes == {"other_tenant"} with input as _asks("tools.call", null, "beta", ["read", "execute", "admin"])
}

test_a_resource_of_unknown_tenant_is_denied if {
	properties := {"tenant": "acme", "roles": [], "scopes": ["admin"]}
	_codes == {"other_tenant"} with input as {"subject": {"properties": properties}}
}

test_tenants_themselves_are_administrated_from_any_tenant if {
	tenant.deny == set() with input as _asks("control.tenants.read", "acme", "beta", ["admin"])
	_codes == {"other_tenant"} with input as _asks("control.tenants.read", "acme", "beta", ["read"])
}

_codes contains reason.code if some reason in tenant.deny

_asks(action, mine, theirs, scopes) := {
	"subject": {"properties": {"tenant": mine, "roles": [], "scopes": scopes}},
	"action": {"name": action},
	"resource": {"properties": {"tenant": theirs}},
}
