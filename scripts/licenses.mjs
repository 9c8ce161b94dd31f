/** Fails if a package of `dist/sbom.cdx.json` has a license that is not allowed, and names package, license and fix. */
import { readFileSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Permissive: they ask for a notice and demand nothing of the programs that use the package. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'Python-2.0',
  'Unlicense',
  'Zlib',
])

/** Packages whose manifest has no SPDX license: the license of the file LICENSE in this version of the package. */
const READ_IN_THE_PACKAGE = {
  'decko@1.2.0': 'MIT',
  'stickyfill@1.1.1': 'MIT',
  'url-template@2.0.8': 'BSD-3-Clause',
}

/** An SPDX expression without nested parentheses; everything else is not allowed. */
function isAllowed(expression) {
  const inner = expression.replace(/^\((.*)\)$/, '$1')
  if (/[()]/.test(inner)) return false
  return inner.split(' OR ').some(choice => choice.split(' AND ').every(license => ALLOWED.has(license)))
}

/** One line for each component of the SBOM that may not be shipped. */
export function findFaults(components) {
  return components.flatMap(({ 'bom-ref': name, licenses = [] }) => {
    const declared = licenses.map(({ license, expression }) => expression ?? license.id ?? license.name)
    if (declared.length === 0 && READ_IN_THE_PACKAGE[name]) declared.push(READ_IN_THE_PACKAGE[name])
    if (declared.length > 0 && declared.every(isAllowed)) return []
    const fix =
      declared.length === 0
        ? 'read the LICENSE file of the package, and add the license to READ_IN_THE_PACKAGE'
        : 'replace the package, or review the license and add it to ALLOWED'
    return [`${name}: ${declared.join(', ') || 'no license declared'}; ${fix} in scripts/licenses.mjs`]
  })
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const file = new URL('../dist/sbom.cdx.json', import.meta.url)
  const { components } = JSON.parse(readFileSync(file, 'utf8'))
  const faults = findFaults(components)
  for (const fault of faults) console.error(fault)
  if (faults.length === 0) console.log(`The licenses of all ${components.length} packages are allowed.`)
  process.exitCode = faults.length === 0 ? 0 : 1
}
