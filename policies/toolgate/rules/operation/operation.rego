# METADATA
# title: Known operations
# description: Deny by default. Operations that `operations/data.yaml` does not list are denied.
package toolgate.rules.operation

# METADATA
# title: Unknown operation
# description: The operation is not in `operations/data.yaml`.
# custom:
#   reason_code: unknown_operation
deny contains {"code": code, "message": "The policy does not list this operation."} if {
	not _known
	code := rego.metadata.rule().custom.reason_code
}

# a separate rule, because OPA evaluates an operand such as `input.action.name` before `not`: if it is undefined,
# the rule is undefined and does not deny
_known if data.toolgate.operations[input.action.name]
