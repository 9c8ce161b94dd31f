/** Joins the program of the rungs into one file without types, as the build does with the gateway. It does not start the server. */
import { readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const SERVER = fileURLToPath(new URL('./server.ts', import.meta.url))
/** In the tree, so that packages are found. */
const OUT = fileURLToPath(new URL('../../results/ladder-server.mjs', import.meta.url))

/**
 * The loader of TypeScript (tsx) would insert a call that names each function when it is created, which would change the measured times.
 * @returns the path of the joined file
 */
export async function bundledServer(): Promise<string> {
  await build({
    entryPoints: [SERVER],
    outfile: OUT,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    plugins: [
      {
        name: 'keep-place',
        setup(each) {
          each.onLoad({ filter: /\.ts$/ }, ({ path }) => ({
            contents: readFileSync(path, 'utf8').replaceAll(
              'import.meta.url',
              JSON.stringify(pathToFileURL(path).href),
            ),
            loader: 'ts',
          }))
        },
      },
    ],
  })
  return OUT
}
