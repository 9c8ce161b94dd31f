# METADATA
# title: Known operations
# description: Deny by default. What `operations/data.yaml` does not list may nobody do.
package toolgate.rules.operation

# METADATA
# title: Unknown operation
# description: The operation is not listed.
# custom:
#   reason_code: unknown_operation
deny contains {"code": code, "message": "The policy knows no such operation."} if {
	not _known
	code := rego.metadata.rule().custom.reason_code
}

# a rule of its own, because undefined within `not` makes the whole rule undefined, and that denies nothing
_known if data.toolgate.operations[input.action.name]
