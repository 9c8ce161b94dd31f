/** Starts the source of tools, and the example they may call. It serves no tool. */
import { startShop } from '../example/shop/shop.ts'
import type { Tool } from '../model/tool.ts'
import { createDirectorySource } from '../toolsets/directory/source.ts'
import type { Ground } from './ground.ts'

/**
 * Resolves when every tool-set had its first try.
 * @param publish gets the whole set of tools each time it has changed
 * @returns the address of the example, where it was started
 */
export async function startTools(
  { settings, log, closers, egress }: Ground,
  gatewayUrl: string,
  publish: (tools: readonly Tool[]) => void,
): Promise<string | undefined> {
  const shop = settings.example.enabled
    ? await startShop({ host: settings.gateway.host, port: settings.example.port, log })
    : undefined
  if (shop !== undefined) closers.add('example shop', () => shop.close())
  const source = createDirectorySource({
    directory: settings.toolsets,
    dataDir: settings.dataDir,
    egress,
    apiGroup: settings.apiGroup,
    variables: { GATEWAY_URL: gatewayUrl, ...(shop === undefined ? {} : { EXAMPLE_URL: shop.url }) },
    log,
  })
  closers.add('tool-sets', () => source.close())
  await source.start(publish)
  return shop?.url
}
