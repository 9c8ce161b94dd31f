# METADATA
# title: Tenants
# description: |
#   A thing is for the callers of its tenant, or for all when it belongs to none. Who acts for another tenant
#   (`X-Tenant-ID`, `cpi-admin` only) arrives here as a caller of that tenant: the gateway has seen to it.
package toolgate.rules.tenant

import data.toolgate.granted

# METADATA
# title: Another tenant's
# description: The thing belongs to a tenant the caller is not acting in. No scope would help.
# custom:
#   reason_code: other_tenant
deny contains {"code": code, "message": "This belongs to another tenant."} if {
	not _within_reach
	code := rego.metadata.rule().custom.reason_code
}

_within_reach if {
	input.resource.properties.tenant == null
} else if {
	input.resource.properties.tenant == input.subject.properties.tenant
} else if {
	granted.has_one_of(data.toolgate.operations[input.action.name].every_tenant)
}
