/** Starts the source of tools and the example backend. It serves no tool. */

import { createDirectorySource } from '../../catalog/directory/source.ts'
import type { PublishCatalog, ToolSource } from '../../catalog/source.ts'
import { reviewView } from '../../data-plane/http/view-review.ts'
import { startShop } from '../../example/shop/shop.ts'
import type { AppContext } from './app-context.ts'
import { reportStatusesOf } from './tool-set-statuses.ts'

/**
 * Resolves when every ToolSet has been compiled or has failed once.
 * @param publish called with all tools after each change
 * @returns the address of the example, if started
 */
export async function startTools(
  context: AppContext,
  gatewayUrl: string,
  publish: PublishCatalog,
): Promise<string | undefined> {
  const { settings, log, closers } = context
  const shop = settings.example.enabled
    ? await startShop({ host: settings.gateway.host, port: settings.example.port, log })
    : undefined
  if (shop !== undefined) closers.add('example shop', () => shop.close())
  const source = await sourceOf(context, {
    GATEWAY_URL: gatewayUrl,
    ...(shop === undefined ? {} : { EXAMPLE_URL: shop.url }),
  })
  closers.add('tool-sets', () => source.close())
  reportStatusesOf(context, source)
  await source.start(publish)
  return shop?.url
}

async function sourceOf(
  { settings, log, egress, conditions, reportDamage: onDamage }: AppContext,
  variables: Readonly<Record<string, string>>,
): Promise<ToolSource> {
  const { toolSets, dataDir, apiGroup } = settings
  if (toolSets.source === 'directory')
    return createDirectorySource({
      ...{
        directory: toolSets.directory,
        dataDir,
        egress,
        apiGroup,
        variables,
        log,
        onDamage,
        review: reviewView,
      },
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
    ...{ apiGroup, dataDir, egress, log, onDamage, review: reviewView, identity, leaseNamespace: namespace },
  })
}
