/** Reads source files and says what each imports and touches, by parsing it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'

export interface SourceFile {
  /** From the folder it was read from, with `/`. */
  readonly path: string
  readonly text: string
  readonly lines: number
  /** Module specifiers as written, of imports, exports, `import()` and `require()`. */
  readonly imports: readonly string[]
  readonly readsEnvironment: boolean
  readonly writesConsole: boolean
}

export function readSources(folder: string): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(path => /\.tsx?$/.test(path) && !/\.d\.ts$|(^|\/)\./.test(path))
    .map(path => parseSource(path.replaceAll('\\', '/'), readFileSync(join(folder, path), 'utf8')))
}

export function parseSource(path: string, text: string): SourceFile {
  const kind = path.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, false, kind)
  const imports: string[] = []
  let readsEnvironment = false
  let writesConsole = false
  const visit = (node: ts.Node): void => {
    const specifier = specifierOf(node, tree)
    if (specifier !== undefined) imports.push(specifier)
    if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression)) {
      const object = node.expression.text
      if (object === 'process' && node.name.text === 'env') readsEnvironment = true
      if (object === 'console') writesConsole = true
    }
    if (ts.isImportDeclaration(node) && importsEnv(node)) readsEnvironment = true
    ts.forEachChild(node, visit)
  }
  visit(tree)
  const lines = text.replace(/\n$/, '').split('\n').length
  return { path, text, lines, imports, readsEnvironment, writesConsole }
}

/** What is called with the name of a module, besides `import()`. */
const REQUIRING = /^(require|require\.resolve|import\.meta\.resolve|createRequire\(.*\))$/s

function specifierOf(node: ts.Node, tree: ts.SourceFile): string | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    const { moduleSpecifier } = node
    return moduleSpecifier !== undefined && ts.isStringLiteral(moduleSpecifier)
      ? moduleSpecifier.text
      : undefined
  }
  if (ts.isImportTypeNode(node)) {
    const { argument } = node
    return ts.isLiteralTypeNode(argument) && ts.isStringLiteral(argument.literal)
      ? argument.literal.text
      : undefined
  }
  if (!ts.isCallExpression(node)) return undefined
  const [first] = node.arguments
  if (first === undefined || !ts.isStringLiteralLike(first)) return undefined
  const dynamic = node.expression.kind === ts.SyntaxKind.ImportKeyword
  return dynamic || REQUIRING.test(node.expression.getText(tree)) ? first.text : undefined
}

function importsEnv(node: ts.ImportDeclaration): boolean {
  const { moduleSpecifier, importClause } = node
  if (!ts.isStringLiteral(moduleSpecifier) || moduleSpecifier.text !== 'node:process') return false
  const bindings = importClause?.namedBindings
  return (
    bindings !== undefined &&
    ts.isNamedImports(bindings) &&
    bindings.elements.some(element => (element.propertyName ?? element.name).text === 'env')
  )
}

/** Path of a relative import from the same folder as `SourceFile.path`; begins with `../` when it leaves it. */
export function target(file: SourceFile, specifier: string): string {
  return posix.normalize(posix.join(posix.dirname(file.path), specifier))
}

/** `@scope/name/deep` → `@scope/name`. */
export function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
