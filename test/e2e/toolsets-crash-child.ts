/** A process that runs the directory source and says on stdout what it publishes. The crash test kills it. */

import { createDirectorySource } from '../../src/catalog/directory/source.ts'
import { reviewView } from '../../src/data-plane/listing/view-review.ts'
import { createEgress } from '../../src/net/egress/client.ts'
import { SILENT } from '../../src/telemetry/log.ts'
import { noDamage } from '../fixtures/no-damage.ts'

const [directory, dataDir] = process.argv.slice(2) as [string, string]
const source = createDirectorySource({
  directory,
  dataDir,
  egress: createEgress({ allow: [], allowLoopback: true }),
  apiGroup: 'toolgate.dev',
  variables: {},
  log: SILENT,
  onDamage: noDamage,
  review: reviewView,
})
void source.start(tools => {
  process.stdout.write(`${JSON.stringify(tools.map(tool => [tool.name, tool.description]))}\n`)
})
// The source itself keeps no process alive.
setInterval(() => {}, 60_000)
