/** Finds the tool, resource or prompt that a call names, among those offered in its tenant, address and ToolView. */
import { oncePer } from '../../../base/once-per.ts'
import { readUriTemplate, type UriTemplate } from '../../../base/uri-template.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import { isOffered, offerOf, realName } from '../../pipeline/offer.ts'
import { type CallOperation, isCall } from '../../pipeline/operation.ts'
import type { Stage } from '../../pipeline/stage.ts'
import { type CompiledTool, RESOURCE_PREFIX } from '../../snapshot/snapshot.ts'

export function resolveTool(): Stage {
  return {
    id: 'resolve-tool',
    phase: 'identify',
    run(exchange) {
      const { operation } = exchange
      if (!isCall(operation)) return undefined
      const offer = offerOf(exchange.snapshot, exchange, operation.selection)
      const found =
        operation.action === 'tools.call'
          ? exchange.snapshot.toolsOf(exchange.tenant).get(realName(operation.tool, offer) ?? '')
          : featureOf(exchange, operation)
      if (found !== undefined && isOffered(found.tool, offer)) exchange.tool = found
      return undefined
    },
  }
}

/** A resource that no list names may be one of a template. */
function featureOf(
  { snapshot, tenant }: Exchange,
  { action, tool }: CallOperation,
): CompiledTool | undefined {
  const features = snapshot.featuresOf(tenant)
  const named = features.get(tool)
  if (named !== undefined || action !== 'resources.read') return named
  const uri = tool.slice(RESOURCE_PREFIX.length)
  return templatesOf(features).find(({ template }) => template.match(uri) !== undefined)?.entry
}

const templatesOf = oncePer((features: ReadonlyMap<string, CompiledTool>) =>
  [...features.values()].flatMap((entry): { entry: CompiledTool; template: UriTemplate }[] => {
    const { feature } = entry.tool
    const template = feature?.kind === 'template' ? readUriTemplate(feature.id) : undefined
    return template === undefined ? [] : [{ entry, template }]
  }),
)
