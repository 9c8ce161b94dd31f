/** Schemas of changed definitions of MCP servers: in reports of gateways, in the response of an API, and in an acceptance. */
import {
  MAX_FINDING_CHARS,
  MAX_FINDINGS,
  MAX_LISTED_CHANGES,
  MAX_NAME_CHARS,
  MAX_SHOWN_CHARS,
} from '../../../model/pending-definitions.ts'
import { count, shaped, textField } from '../../../model/schema/fields.ts'
import { z } from '../../../model/schema/zod.ts'
import { shownMoment } from './fields.ts'

export const specHash = shaped(/^[0-9a-f]{64}$/, 64, 'must be a SHA-256, as 64 hexadecimal digits.').openapi({
  example: '0'.repeat(64),
  description: 'SHA-256 of the list of definitions that the MCP server sends.',
})

const value = textField(MAX_SHOWN_CHARS, 0).nullable()
const change = z.strictObject({
  tool: textField(MAX_NAME_CHARS).openapi({
    description: 'Name of the tool on its server.',
    example: 'delete',
  }),
  field: textField(MAX_NAME_CHARS).openapi({
    example: 'annotations.readOnlyHint',
    description: 'Changed part of the definition.',
  }),
  before: value.openapi({
    description: 'As the gateways serve it; a schema is JSON text; null: absent.',
  }),
  after: value.openapi({ description: 'As the server sends it; null: absent.' }),
})

export const pendingDefinitions = z.object({
  spec_hash: specHash,
  changes: z
    .array(change)
    .max(MAX_LISTED_CHANGES)
    .openapi({
      example: [
        { tool: 'delete', field: 'description', before: 'Deletes a draft.', after: 'Deletes an order.' },
      ],
    }),
  findings: z.array(textField(MAX_FINDING_CHARS)).max(MAX_FINDINGS).openapi({
    description:
      'Texts of the changed tools that may instruct models, such as a request to hide something from the user.',
    example: [],
  }),
  more: count(0).openapi({ description: 'Number of changes that are not listed.' }),
})

export const shownPending = pendingDefinitions
  .extend({
    gateway: z.string().openapi({ description: 'Name of the gateway that reported the changes.' }),
    at: shownMoment,
  })
  .openapi('PendingDefinitions', {
    description:
      'Changes that the MCP server of an API announces and the gateways do not serve until they are accepted; absent: none.',
  })

export const acceptance = z.strictObject({ spec_hash: specHash }).openapi('DefinitionsAcceptance')
