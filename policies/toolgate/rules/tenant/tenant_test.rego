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

test_the_scope_admin_covers_the_callers_own_tenant if {
	every action in ["control.tenants.read", "control.tenants.update", "control.tenants.delete"] {
		tenant.deny == set() with input as _asks(action, "acme", "acme", ["admin"])
		_codes == {"other_tenant"} with input as _asks(action, "acme", "beta", ["admin"])
	}
}

test_the_scope_admin_does_not_cover_every_tenant if {
	every action in ["control.tenants.list", "control.tenants.create", "control.plans.create", "admin"] {
		_codes == {"every_tenant"} with input as _asks(action, "acme", null, ["admin"])
	}
}

test_a_caller_without_tenant_reaches_every_tenant if {
	tenant.deny == set() with input as _asks("control.tenants.list", null, null, ["admin"])
	tenant.deny == set() with input as _asks("control.tenants.update", null, "beta", ["admin"])
}

test_the_role_cpi_admin_reaches_every_tenant if {
	roles := {"subject": {"properties": {"roles": ["cpi-admin"]}}}
	tenant.deny == set() with input as object.union(_asks("control.tenants.list", "acme", null, []), roles)
	tenant.deny == set() with input as object.union(_asks("control.tenants.update", "acme", "beta", []), roles)
	_codes == {"other_tenant"} with input as object.union(_asks("tools.call", "acme", "beta", []), roles)
}

_codes contains reason.code if some reason in tenant.deny

_asks(action, mine, theirs, scopes) := {
	"subject": {"properties": {"tenant": mine, "roles": [], "scopes": scopes}},
	"action": {"name": action},
	"resource": {"properties": {"tenant": theirs}},
}
