/** Prints how many tokens tools/list takes, in full and compact, for the shop, Petstore, GitHub and Stripe. The last two need `node scripts/corpus.mjs --install`. */
import { register } from 'tsx/esm/api'

register()
const { LARGE_DOCUMENTS, readLarge } = await import('../test/fixtures/large-documents.ts')
const { listedTokens } = await import('../test/fixtures/listed-tokens.ts')

for (const [name, path, prefix] of LARGE_DOCUMENTS) {
  const document = readLarge(path)
  if (document === undefined) {
    process.stdout.write(`${name}: not installed\n`)
    continue
  }
  const { tools, tokens, json } = await listedTokens(document, prefix)
  const compact = await listedTokens(document, prefix, true)
  process.stdout.write(
    `${name}: ${tools} tools, ${tokens} tokens, ${json.length} characters; compact ${compact.tokens} tokens\n`,
  )
}
