/** The specs of GatewayBinding and GatewayInstance objects. */
import { anyObject, flag, formed, noted, text, webUrl, z } from './resource-fields.ts'

export const gatewayBindingSpec = z.strictObject({
  path: formed(/^\//, 306, {
    description:
      'Key of the API in a configuration tree: its path, with @ and the version where the path has several.',
    fix: 'write the path of the API, such as /orders or /orders@2',
  }),
  api: anyObject({
    description:
      'Fields of the API in a configuration tree, which the control plane checks. spec may be {configMapRef} with name and key.',
    fix: 'write the fields of an API, as in a file for `toolgate config apply`',
  }),
  gatewayRef: z.exactOptional(
    noted(z.strictObject({ name: text(253) }), {
      description: 'GatewayInstance of the namespace platform whose state the status shows.',
    }),
  ),
  overwriteDrift: z.exactOptional(
    flag({
      description: 'Overwrites fields that were changed outside of this object; otherwise they are an error.',
    }),
  ),
})

export const gatewayInstanceSpec = z.strictObject({
  gatewayName: z.exactOptional(
    text(100, { description: 'GATEWAY_NAME of the gateway; absent: metadata.name.' }),
  ),
  url: z.exactOptional(webUrl({ description: 'Public address that the gateway is to have.' })),
})
