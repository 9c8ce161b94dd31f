package toolgate_test

import data.toolgate

test_allowed_without_reasons if {
	toolgate.decision == {"allow": true, "reasons": set(), "obligations": {}} with input as _asks("tools.list", ["read"])
}

test_denied_with_every_reason if {
	decision := toolgate.decision with input as _asks("control.subscriptions.approve", ["read"])
	decision.allow == false
	{reason.code | some reason in decision.reasons} == {"insufficient_scope", "role_required"}
}

test_denied_when_nothing_is_known if {
	toolgate.decision.allow == false with input as {}
}

test_a_rule_in_another_package_denies_and_obliges if {
	# regal ignore:ignored-import,unresolved-reference
	decision := toolgate.decision with data.toolgate.rules.mine as {
		"deny": {{"code": "closed", "message": "Closed."}},
		"obligations": {"confirm": {"title": "Sure?"}},
	}
		with input as _asks("tools.list", ["read"])
	decision == {
		"allow": false,
		"reasons": {{"code": "closed", "message": "Closed."}},
		"obligations": {"confirm": {"title": "Sure?"}},
	}
}

test_a_rule_about_one_tool_is_for_that_tool_only if {
	tools := {"*": {
		"deny": {{"code": "closed", "message": "Closed."}},
		"obligations": {"log": true},
	}}

	# regal ignore:ignored-import
	{reason.code | some reason in toolgate.decision.reasons} == {"closed"} with data.toolgate.tools as tools
		with input as _asks("tools.list", ["read"])

	# regal ignore:ignored-import
	toolgate.decision.obligations == {"log": true} with data.toolgate.tools as tools
		with input as _asks("tools.list", ["read"])

	# regal ignore:ignored-import
	toolgate.decision.allow with data.toolgate.tools as {"another": tools["*"]}
		with input as _asks("tools.list", ["read"])
}

_asks(action, scopes) := {
	"subject": {
		"type": "token",
		"id": "a",
		"properties": {"consumer": "a", "tenant": "acme", "roles": [], "scopes": scopes},
	},
	"action": {"name": action},
	"resource": {"type": "tools", "id": "*", "properties": {"tenant": "acme"}},
	"context": {"access": "rest", "time": 0, "plan": null},
}
