/** The draft: its files in the editor, its check, an input to try, and the way to the candidate. The control plane compiles and evaluates. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, control } from '../../../api/client.ts'
import type { PolicyDraftReport, PolicyInForce } from '../../../api/types.ts'
import { Empty, Section } from '../../../components/layout.tsx'
import { may } from '../../../state/session.ts'
import { CodeEditor } from './code-editor.tsx'
import { type Files, keepDraft, keptDraft, removeDraft, sameFiles } from './draft-storage.ts'
import { EXAMPLE_INPUT } from './example-input.ts'
import { Report } from './report.tsx'

const NAME = /^(?:[A-Za-z0-9_][A-Za-z0-9_-]*\/){0,8}[A-Za-z0-9_][A-Za-z0-9_-]*\.rego$/

export interface PartProps {
  readonly policy: PolicyInForce
  readonly onChanged: () => Promise<void>
}

export function Draft({ policy, onChanged }: PartProps) {
  const original: Files = Object.fromEntries((policy.files ?? []).map(({ path, content }) => [path, content]))
  const kept = useRef(keptDraft()).current
  const draft = useSignal<Files>(kept?.files ?? original)
  const base = useSignal(kept?.base ?? policy.revision)
  const shown = useSignal(firstOf(draft.value))
  const target = useSignal<{ readonly row: number; readonly at: number } | undefined>(undefined)
  const report = useSignal<PolicyDraftReport | undefined>(undefined)
  /** The draft that was checked. */
  const checked = useSignal<Files | undefined>(undefined)
  const input = useSignal(EXAMPLE_INPUT)
  const busy = useSignal<string | undefined>(undefined)
  const failure = useSignal<string | undefined>(undefined)
  const notice = useSignal<string | undefined>(undefined)

  const run = async (what: string, work: () => Promise<void>): Promise<void> => {
    busy.value = what
    failure.value = notice.value = undefined
    try {
      await work()
    } catch (error) {
      failure.value = error instanceof ApiError ? messageOf(error) : (error as Error).message
    } finally {
      busy.value = undefined
    }
  }
  const check = (withInput: boolean): Promise<void> =>
    run('check', async () => {
      const files = draft.value
      const body = {
        ...(policy.compiler.available
          ? { files: Object.entries(files).map(([path, content]) => ({ path, content })) }
          : {}),
        ...(withInput ? { input: JSON.parse(input.value) as unknown } : {}),
      }
      report.value = await control<PolicyDraftReport>('policy/check', { method: 'POST', body })
      checked.value = files
    })
  const shadow = (): Promise<void> =>
    run('shadow', async () => {
      const revision = report.value!.revision!
      await control('policy/candidate', { method: 'POST', body: { revision } })
      notice.value = `Revision ${revision} is the candidate now. While the gateways serve calls, they compare the candidate with the policy in force.`
      await onChanged()
    })
  const open = (file: string, row: number): void => {
    if (draft.value[file] === undefined) return
    shown.value = file
    target.value = { row, at: Date.now() }
  }
  const add = (name: string): void => {
    if (!NAME.test(name) || draft.value[name] !== undefined) {
      failure.value = `Choose another path for the file: ${name} already exists in the draft, or is not a path such as toolgate/rules/night/night.rego.`
      return
    }
    draft.value = {
      ...draft.value,
      [name]: `package ${name.split('/').slice(0, -1).join('.') || 'toolgate'}\n`,
    }
    shown.value = name
  }
  const reset = (): void => {
    draft.value = original
    base.value = policy.revision
    report.value = checked.value = undefined
    shown.value = firstOf(original)
    editorKey.value++
  }
  const remove = (): void => {
    const { [shown.value]: _, ...rest } = draft.value
    draft.value = rest
    shown.value = firstOf(rest)
  }
  const editorKey = useSignal(0)
  useEffect(() => {
    // this draft was promoted
    if (sameFiles(draft.value, original)) base.value = policy.revision
  }, [policy.revision])
  useEffect(() => {
    if (sameFiles(draft.value, original)) removeDraft()
    else keepDraft({ files: draft.value, base: base.value })
  }, [draft.value, policy.revision])

  if (policy.files === null)
    return (
      <Empty title="The bundle in force does not contain its sources">
        Build the bundle again with the command `toolgate policy build` of this Toolgate version. The editor
        then shows the sources.
      </Empty>
    )
  const paths = Object.keys(draft.value).sort()
  const isChanged = (path: string): boolean => draft.value[path] !== original[path]
  const removed = Object.keys(original).filter(path => draft.value[path] === undefined)
  const changes = paths.filter(isChanged).length + removed.length
  const marks = (report.value?.errors ?? [])
    .filter(({ file, row }) => file === shown.value && row !== null)
    .map(({ row, column, message }) => ({ row: row!, column, message }))
  const isCurrent = checked.value === draft.value && report.value?.revision != null
  const isBroken = report.value?.tests.some(({ passed }) => !passed) === true
  return (
    <>
      <Section title="Draft">
        {base.value !== policy.revision && (
          <p class="notice warn" role="status">
            Another revision came into force after you began this draft. Promoting the draft would undo that
            revision. "Begin again" discards your changes and opens the revision in force.
          </p>
        )}
        <div class="filters">
          <div class="field grow">
            <label for="policy-file">File</label>
            <select
              id="policy-file"
              value={shown.value}
              onChange={event => {
                shown.value = event.currentTarget.value
              }}
            >
              {paths.map(path => (
                <option key={path} value={path}>
                  {isChanged(path) ? `${path} (changed)` : path}
                </option>
              ))}
            </select>
          </div>
          <button type="button" class="button" disabled={paths.length < 2} onClick={remove}>
            Remove
          </button>
        </div>
        <form
          class="filters"
          onSubmit={event => {
            event.preventDefault()
            const field = event.currentTarget.elements.namedItem('new-file') as HTMLInputElement
            add(field.value.trim())
            field.value = ''
          }}
        >
          <div class="field">
            <label for="new-file">New file</label>
            <input
              id="new-file"
              name="new-file"
              autocomplete="off"
              spellcheck={false}
              placeholder="toolgate/rules/…"
            />
          </div>
          <button type="submit" class="button">
            Add
          </button>
        </form>
        <CodeEditor
          key={editorKey.value}
          schema={policy.input_schema}
          path={shown.value}
          text={draft.value[shown.value] ?? ''}
          marks={marks}
          target={target.value}
          onChange={text => {
            draft.value = { ...draft.value, [shown.value]: text }
          }}
        />
        <div class="actions">
          <button
            type="button"
            class="button primary"
            disabled={busy.value !== undefined || !policy.compiler.available || !may('policy.check')}
            onClick={() => void check(false)}
          >
            {busy.value === 'check' ? 'Checking…' : 'Check and compare'}
          </button>
          <button
            type="button"
            class="button"
            disabled={busy.value !== undefined || !isCurrent || isBroken || !may('policy.change')}
            onClick={() => void shadow()}
          >
            Make the draft the candidate
          </button>
          <button type="button" class="button" disabled={changes === 0} onClick={reset}>
            Begin again
          </button>
          <span class="muted">
            {changes === 0
              ? 'No file is changed.'
              : `${changes} ${changes === 1 ? 'file' : 'files'} changed.`}
          </span>
        </div>
        {notice.value !== undefined && (
          <p class="notice" role="status">
            {notice.value}
          </p>
        )}
        {failure.value !== undefined && (
          <p class="notice bad" role="alert">
            {failure.value}
          </p>
        )}
      </Section>
      {report.value !== undefined && <Report of={report.value} onOpen={open} />}
      <Section title="Try an input">
        <div class="field">
          <label for="policy-input">Input for the policy, as JSON</label>
          <textarea
            id="policy-input"
            class="mono"
            rows={8}
            spellcheck={false}
            value={input.value}
            onInput={event => {
              input.value = event.currentTarget.value
            }}
          />
        </div>
        <div class="actions">
          <button
            type="button"
            class="button"
            disabled={busy.value !== undefined || !may('policy.check')}
            onClick={() => void check(true)}
          >
            {policy.compiler.available ? 'Evaluate with the draft' : 'Evaluate with the policy in force'}
          </button>
        </div>
      </Section>
    </>
  )
}

/** The first rule in the order of the selection; a draft may lack files of the policy in force. */
function firstOf(files: Files): string {
  const paths = Object.keys(files).sort()
  return paths.find(path => path.endsWith('.rego')) ?? paths[0] ?? ''
}

function messageOf({ message, fields }: ApiError): string {
  return [message, ...fields.map(({ field, message: reason }) => `${field} ${reason}`)].join(' ')
}
