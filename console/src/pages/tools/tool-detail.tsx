/** One tool: definition, findings, performance, and the ways to its calls and to the playground. It does not call the tool. */
import type { ToolRow, ToolRows } from '../../api/admin-types.ts'
import { gateway, queryOf } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import { Figure } from '../../components/chart.tsx'
import { Empty, Loaded, Page, Section } from '../../components/layout.tsx'
import { duration, number } from '../../components/numbers.ts'
import { Ago, Facts, Json } from '../../components/text.tsx'
import { href } from '../../state/router.ts'
import { chosenTenant } from '../../state/session.ts'

export function ToolDetail({ name }: { readonly name: string }) {
  const search = queryOf({ q: name, tenant: chosenTenant.value })
  const list = useResource(signal => gateway<ToolRows>(`admin/tools${search}`, { signal }), [search])
  return (
    <Page
      title={name}
      actions={
        <>
          <a class="button" href={href('tools')}>
            All tools
          </a>
          <a class="button" href={href('calls', { tool: name })}>
            Calls
          </a>
          <a class="button primary" href={href('playground', { tool: name })}>
            Try
          </a>
        </>
      }
    >
      <Loaded of={list}>
        {({ tools }) => {
          const tool = tools.find(each => each.name === name)
          return tool === undefined ? <Empty title="The tool does not exist" /> : <Detail of={tool} />
        }}
      </Loaded>
    </Page>
  )
}

function Detail({ of: tool }: { readonly of: ToolRow }) {
  return (
    <>
      <div class="cards">
        <Figure name="Calls" value={number(tool.calls)} more={`${number(tool.refused)} refused`} />
        <Figure name="Failed" value={number(tool.errors)} />
        <Figure name="Median" value={duration(tool.p50_ms)} more={`99 %: ${duration(tool.p99_ms)}`} />
        <Figure name="Tokens" value={number(tool.tokens)} more="estimate for the tool definition" />
      </div>
      {tool.lint.length + tool.name_limits.length > 0 && (
        <div class="notice warn">
          <b>Findings</b>
          <ul>
            {tool.lint.map(({ rule, message }) => (
              <li key={rule + message}>
                <code>{rule}</code> {message}
              </li>
            ))}
            {tool.name_limits.map(({ clients, limit }) => (
              <li key={limit}>
                The tool name is longer than {limit} characters, the limit of {[clients].flat().join(', ')}.
              </li>
            ))}
          </ul>
        </div>
      )}
      <Section title="Definition">
        <div class="card">
          <p>{tool.description}</p>
          <Facts
            rows={[
              ['Request', <code>{`${tool.method} ${tool.backend}`}</code>],
              ['Operation', tool.operation ?? '–'],
              ['Tool set', <a href={href('tools', { toolset: tool.toolset, tool: '' })}>{tool.toolset}</a>],
              ['Tenant', tool.tenant ?? 'every tenant'],
              ['Timeout', duration(tool.timeout_ms)],
              ['Last call', <Ago at={tool.last_call_at} />],
            ]}
          />
          <div class="tags">
            {tool.tags.map(tag => (
              <span class="tag" key={tag}>
                {tag}
              </span>
            ))}
          </div>
        </div>
      </Section>
      <div class="columns">
        <Section title="Arguments">
          <Json value={tool.input_schema} label="Schema of the arguments" />
        </Section>
        <Section title="Annotations">
          <Json value={tool.annotations} label="Annotations" />
        </Section>
      </div>
    </>
  )
}
