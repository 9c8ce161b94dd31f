/** The text of one file, in an editor that is loaded on demand. */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { CodeMirror, Mark } from './code-mirror.ts'

export interface CodeEditorProps {
  /** For the input, for completion. */
  readonly schema: object
  readonly path: string
  /** Read when the path changes. */
  readonly text: string
  readonly marks: readonly Mark[]
  /** Line to which the cursor goes when `at` changes. */
  readonly target: { readonly row: number; readonly at: number } | undefined
  readonly onChange: (text: string) => void
}

export function CodeEditor({ schema, path, text, marks, target, onChange }: CodeEditorProps) {
  const frame = useRef<HTMLDivElement>(null)
  const editor = useSignal<CodeMirror | undefined>(undefined)
  const failed = useSignal(false)
  const change = useRef(onChange)
  change.current = onChange
  useEffect(() => {
    let isGone = false
    import('./code-mirror.ts').then(
      ({ createCodeMirror }) => {
        if (isGone) return
        const root = frame.current!.shadowRoot ?? frame.current!.attachShadow({ mode: 'open' })
        editor.value = createCodeMirror(root, schema, next => change.current(next))
      },
      () => {
        failed.value = true
      },
    )
    return () => {
      isGone = true
      editor.value?.destroy()
    }
  }, [])
  // in the commit: a key pressed at once must not change the text of the previous file under the path of the new one
  useLayoutEffect(() => {
    editor.value?.show(path, text)
    editor.value?.mark(marks)
  }, [editor.value, path])
  useLayoutEffect(() => {
    editor.value?.mark(marks)
  }, [JSON.stringify(marks)])
  useLayoutEffect(() => {
    if (target !== undefined) editor.value?.goTo(target.row)
  }, [target?.at, editor.value])
  return (
    <>
      {failed.value && (
        <p class="notice bad" role="alert">
          The editor could not be loaded. Reload the page.
        </p>
      )}
      {editor.value === undefined && !failed.value && <p role="status">Loading the editor…</p>}
      <div class="code-editor" ref={frame} />
    </>
  )
}
