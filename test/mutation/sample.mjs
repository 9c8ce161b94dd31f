/** A Stryker ignorer that keeps the mutants of one source line in so many (`MUTATION_SAMPLE=10`, or `10:3` for others): a quick estimate of a score. */
import { createHash } from 'node:crypto'
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin'

const [every, offset = 0] = (process.env.MUTATION_SAMPLE ?? '1').split(':').map(Number)

/** Nodes of several lines hold others: they are never left out. */
function isLeftOut({ node, hub }) {
  if (every <= 1 || node.loc == null || node.loc.start.line !== node.loc.end.line) return false
  const digest = createHash('md5')
    .update(`${hub?.file?.opts?.filename ?? ''}${node.loc.start.line}`)
    .digest()
  return digest.readUInt16BE(0) % every !== offset
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, 'sample', {
    shouldIgnore: path => (isLeftOut(path) ? `not among one line in ${every}` : undefined),
  }),
]
