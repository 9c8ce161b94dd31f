/** The spec of a ToolView resource. */
import {
  celRules,
  choice,
  formed,
  integer,
  noted,
  text,
  texts,
  toolName,
  webUrl,
  z,
} from './resource-fields.ts'

const MAX_NAMES = 500
const MAX_CHANGES = 1_000
const MAX_BINDINGS = 100
const MAX_ICONS = 8
/** In tokens; the search tools take about 600. */
const MIN_BUDGET = 1_000
const MAX_BUDGET = 200_000

const icon = z.strictObject({
  src: webUrl(),
  mimeType: z.exactOptional(formed(/^image\/[a-z0-9.+-]+$/, 64, { fix: 'write image/png' })),
  sizes: z.exactOptional(texts(10)),
})

const change = z.strictObject({
  tool: toolName({ description: 'Name in the catalog.' }),
  name: z.exactOptional(toolName({ description: 'Name that models see.' })),
  title: z.exactOptional(text(120)),
  description: z.exactOptional(text(4_096)),
})

const binding = noted(
  z
    .strictObject({
      consumer: z.exactOptional(text(255)),
      role: z.exactOptional(text(255)),
      tenant: z.exactOptional(text(255)),
    })
    .check(z.refine(given => Object.keys(given).length > 0, { params: { reason: 'names no caller' } })),
  { fix: 'write consumer, role or tenant', kubernetes: { minProperties: 1 } },
)

export const toolViewSpec = noted(
  z.strictObject({
    title: z.exactOptional(text(120)),
    description: z.exactOptional(text(1_024)),
    instructions: z.exactOptional(
      text(8_192, { description: 'For models; sent with initialize and server/discover.' }),
    ),
    websiteUrl: z.exactOptional(webUrl()),
    icons: z.exactOptional(z.array(icon).check(z.maxLength(MAX_ICONS))),
    select: z.exactOptional(
      noted(
        z.strictObject({
          toolSets: z.exactOptional(texts(MAX_NAMES)),
          tags: z.exactOptional(texts(MAX_NAMES)),
          tools: z.exactOptional(texts(MAX_NAMES)),
          exclude: z.exactOptional(texts(MAX_NAMES)),
        }),
        {
          description:
            'All that are given must agree. A star in tools and exclude stands for any characters.',
        },
      ),
    ),
    tools: z.exactOptional(z.array(change).check(z.maxLength(MAX_CHANGES))),
    order: z.exactOptional(texts(MAX_NAMES)),
    tokenBudget: z.exactOptional(
      integer(MIN_BUDGET, MAX_BUDGET, { description: 'Budget of the definitions in a list, in tokens.' }),
    ),
    overBudget: z.exactOptional(choice(['search', 'leaveOut'])),
    bindings: z.exactOptional(z.array(binding).check(z.maxLength(MAX_BINDINGS))),
  }),
  celRules(['!has(self.overBudget) || has(self.tokenBudget)', 'overBudget needs tokenBudget']),
)

export type ToolViewSpec = z.output<typeof toolViewSpec>
