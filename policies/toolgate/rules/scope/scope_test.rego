package toolgate.rules.scope_test

import data.toolgate.rules.scope

test_a_granted_scope_is_enough if {
	scope.deny == set() with input as _asks("tools.list", ["read"], {})
}

test_a_missing_scope_is_denied_and_named if {
	scope.deny == {{
		"code": "insufficient_scope",
		"message": "The request needs the scope read.",
		"scopes": ["read"],
	}} with input as _asks("tools.list", ["execute"], {})
}

test_a_role_brings_the_scope if {
	scope.deny == set() with input as object.union(
		_asks("admin", [], {}),
		{"subject": {"properties": {"roles": ["cpi-admin"], "scopes": []}}},
	)
}

test_one_of_several_is_enough if {
	scope.deny == set() with input as _asks("control.metrics.read", ["read"], {})
	scope.deny == set() with input as _asks("control.metrics.read", ["audit"], {})
}

test_none_of_several_names_the_first if {
	scope.deny == {{
		"code": "insufficient_scope",
		"message": "The request needs the scope read or audit.",
		"scopes": ["read"],
	}} with input as _asks("control.metrics.read", ["write"], {})
}

test_a_resource_of_no_tenant_needs_another_scope if {
	scope.deny == set() with input as _asks("control.plans.create", ["write"], {"tenant": "acme"})
	_missing == {"write"} with input as _asks("control.plans.create", ["admin"], {"tenant": "acme"})
	scope.deny == set() with input as _asks("control.plans.create", ["admin"], {"tenant": null})
	_missing == {"admin"} with input as _asks("control.plans.create", ["write"], {"tenant": null})
}

test_an_api_of_no_tenant_needs_nothing if {
	_missing == set() with input as _asks("proxy", [], {"tenant": null})
	_missing == {"execute"} with input as _asks("proxy", [], {"tenant": "acme"})
}

test_what_a_confined_role_grants_needs_no_scope if {
	subscriber := {"subject": {"properties": {"roles": ["subscriber"], "scopes": []}}}
	own := _asks("control.apikeys.create", [], {"own": true, "tenant": "acme"})
	_missing == set() with input as object.union(own, subscriber)

	other := _asks("control.apikeys.create", [], {"own": false, "tenant": "acme"})
	_missing == {"write"} with input as object.union(other, subscriber)
}

test_a_destructive_tool_needs_write_besides if {
	_missing == {"execute", "write"} with input as _calls({"readOnlyHint": false, "destructiveHint": true}, [])
	_missing == {"write"} with input as _calls({"readOnlyHint": false, "destructiveHint": true}, ["execute"])
	_missing == {"execute"} with input as _calls({"readOnlyHint": false, "destructiveHint": true}, ["write"])
	_missing == set() with input as _calls({"readOnlyHint": false, "destructiveHint": true}, ["execute", "write"])
}

test_other_tools_do_not if {
	_missing == set() with input as _calls({"readOnlyHint": true, "destructiveHint": false}, ["execute"])
	_missing == set() with input as _calls({"readOnlyHint": true, "destructiveHint": true}, ["execute"])
	_missing == set() with input as _calls({"readOnlyHint": false, "destructiveHint": false}, ["execute"])
}

test_a_tool_without_hints_is_taken_to_be_destructive if {
	_missing == {"write"} with input as _calls({}, ["execute"])
	_missing == {"write"} with input as _asks("tools.call", ["execute"], {})
}

test_arguments_change_nothing if {
	asked := _calls({"readOnlyHint": true}, ["execute"])
	_missing == set() with input as asked
	_missing == set() with input as object.union(asked, {"context": {"arguments": {"id": 7}}})
}

_missing contains name if {
	some reason in scope.deny
	some name in reason.scopes
}

_asks(action, scopes, properties) := {
	"subject": {"properties": {"roles": [], "scopes": scopes}},
	"action": {"name": action},
	"resource": {"properties": properties},
}

_calls(annotations, scopes) := _asks("tools.call", scopes, {"annotations": annotations})
