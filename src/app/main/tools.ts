/** Starts the sources of tools (tool sets, and APIs of type mcp of the control plane) and the example backend. */

import { createDirectorySource } from '../../catalog/directory/source.ts'
import { McpApis } from '../../catalog/mcp-apis.ts'
import type { PublishCatalog, ToolSource } from '../../catalog/source.ts'
import type { ToolSetCompiler } from '../../catalog/sync/compile-job.ts'
import { reviewView } from '../../data-plane/listing/view-review.ts'
import type { Shop } from '../../example/shop/shop.ts'
import type { ControlShare } from '../../link/control-share.ts'
import type { Tool } from '../../model/tool.ts'
import type { ToolView } from '../../model/tool-view.ts'
import type { AppContext } from './app-context.ts'
import { reportStatusesOf } from './tool-set-statuses.ts'

export interface StartedTools {
  /** Example URL of the example, if started. */
  readonly exampleUrl: string | undefined
  /** Takes up the APIs of a share of the control plane. */
  readonly onShare: (share: ControlShare) => void
  readonly definitions: McpApis['definitions']
}

/**
 * Resolves when every ToolSet has been compiled or has failed once.
 * @param publish called with all tools after each change
 * @param compiler closed with the source
 */
export async function startTools(
  context: AppContext,
  gatewayUrl: string,
  publish: PublishCatalog,
  compiler: ToolSetCompiler | undefined,
): Promise<StartedTools> {
  const { settings, log, closers, upstreamEgress: egress, clock, reportDamage: onDamage } = context
  const shop = settings.example.enabled ? await openShop(context) : undefined
  if (shop !== undefined) closers.add('example shop', () => shop.close())
  const variables = { GATEWAY_URL: gatewayUrl, ...(shop === undefined ? {} : { EXAMPLE_URL: shop.url }) }
  const source = await sourceOf(context, variables, compiler)
  closers.add('tool-sets', () => source.close())
  reportStatusesOf(context, source)
  let ofToolSets: readonly Tool[] | undefined
  let ofApis: readonly Tool[] = []
  let shownViews: readonly ToolView[] = []
  const publishAll = (): void => {
    if (ofToolSets !== undefined)
      publish(ofApis.length === 0 ? ofToolSets : [...ofToolSets, ...ofApis], shownViews)
  }
  const { references } = source
  const apis = new McpApis(
    { references, dataDir: settings.dataDir, egress, log, onDamage, now: clock.now },
    tools => {
      ofApis = tools
      publishAll()
    },
  )
  closers.add('APIs of type mcp', () => apis.close())
  reportStatusesOf(context, apis)
  await source.start(
    (tools, views) => {
      ofToolSets = tools
      shownViews = views
      publishAll()
    },
    () => apis.refreshLocal(),
  )
  return {
    exampleUrl: shop?.url,
    onShare: share => void apis.apply(share),
    definitions: () => apis.definitions(),
  }
}

/** A production gateway does not load it. */
async function openShop({ settings, log }: AppContext): Promise<Shop> {
  const { startShop } = await import('../../example/shop/shop.ts')
  return startShop({ host: settings.gateway.host, port: settings.example.port, log })
}

async function sourceOf(
  { settings, log, upstreamEgress: egress, conditions, reportDamage: onDamage }: AppContext,
  variables: Readonly<Record<string, string>>,
  compiler: ToolSetCompiler | undefined,
): Promise<ToolSource> {
  const { toolSets, dataDir, apiGroup } = settings
  if (toolSets.source === 'directory')
    return createDirectorySource({
      directory: toolSets.directory,
      dataDir,
      egress,
      apiGroup,
      variables,
      log,
      onDamage,
      review: reviewView,
      compiler,
    })
  const { kubeconfig, namespace, identity } = toolSets
  // loading the client takes 60 MiB of memory
  const { connectKubernetes } = await import('../../catalog/kubernetes/client.ts')
  const { createKubernetesSource } = await import('../../catalog/kubernetes/source.ts')
  return createKubernetesSource({
    api: connectKubernetes({
      apiGroup,
      kubeconfig,
      onFault: fault => conditions.set('tool-sets', fault),
      log,
    }),
    apiGroup,
    dataDir,
    egress,
    log,
    onDamage,
    review: reviewView,
    compiler,
    identity,
    leaseNamespace: namespace,
  })
}
