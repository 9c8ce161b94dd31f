/** CodeMirror as the policy editor needs it; `code-editor.tsx` loads it on demand. */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { completeRego, rego, type Schema } from './rego.ts'

/** A fault in a line. Rows and columns count from 1. */
export interface Mark {
  readonly row: number
  readonly column: number | null
  readonly message: string
}

export interface CodeMirror {
  show(path: string, text: string): void
  mark(marks: readonly Mark[]): void
  goTo(row: number): void
  destroy(): void
}

const colors = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.number, tags.atom], color: 'var(--info)' },
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '600' },
  { tag: tags.function(tags.variableName), color: 'var(--warn)' },
])

const look = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--surface)', height: '100%', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--raised)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--accent-soft)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--surface)',
    color: 'var(--text)',
    border: '1px solid var(--line-strong)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent-back)',
    color: '#ffffff',
  },
})

/** @param root a shadow root: there, styles need no permission of the Content-Security-Policy */
export function createCodeMirror(
  root: ShadowRoot,
  schema: Schema,
  onChange: (text: string) => void,
): CodeMirror {
  let isSilent = false
  const extensions = (path: string) => [
    lineNumbers(),
    lintGutter(),
    history(),
    bracketMatching(),
    closeBrackets(),
    highlightActiveLine(),
    indentUnit.of('\t'),
    EditorState.tabSize.of(4),
    path.endsWith('.rego')
      ? [rego, autocompletion({ override: [context => completeRego(schema, context)] })]
      : [],
    syntaxHighlighting(colors),
    look,
    // no key for the tabulator: it leaves the editor, so that the keyboard is enough
    keymap.of([
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...completionKeymap,
      ...lintKeymap,
    ]),
    EditorView.contentAttributes.of({ 'aria-label': `Text of ${path}`, spellcheck: 'false', tabindex: '0' }),
    EditorView.updateListener.of(update => {
      if (update.docChanged && !isSilent) onChange(update.state.doc.toString())
    }),
  ]
  const view = new EditorView({ root, parent: root })
  return {
    show(path, text) {
      isSilent = true
      view.setState(EditorState.create({ doc: text, extensions: extensions(path) }))
      isSilent = false
    },
    mark(marks) {
      const { doc } = view.state
      const diagnostics = marks.map(({ row, column, message }): Diagnostic => {
        const line = doc.line(Math.min(Math.max(1, row), doc.lines))
        const from = Math.min(line.to, line.from + Math.max(0, (column ?? 1) - 1))
        return { from, to: line.to, severity: 'error', message }
      })
      view.dispatch(setDiagnostics(view.state, diagnostics))
    },
    goTo(row) {
      const line = view.state.doc.line(Math.min(Math.max(1, row), view.state.doc.lines))
      view.dispatch({
        selection: { anchor: line.from },
        effects: EditorView.scrollIntoView(line.from, { y: 'center' }),
      })
      view.focus()
    },
    destroy: () => view.destroy(),
  }
}
