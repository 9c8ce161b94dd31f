/** The static site of the pages in this repository: which pages, in which order, searchable without a server. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type MarkdownRenderer } from 'vitepress'

type Token = ReturnType<MarkdownRenderer['parse']>[number]

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const page = (text: string, link: string) => ({ text, link })

export default defineConfig({
  title: 'Toolgate',
  // without one, browsers request /favicon.ico
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  description: 'The gateway between AI agents and a company’s APIs.',
  srcDir: './.vitepress/pages',
  outDir: '../site',
  cacheDir: './.cache',
  cleanUrls: false,
  // a README is the index of its folder
  rewrites: id => id.replace(/(^|\/)README\.md$/, '$1index.md'),
  ignoreDeadLinks: [/^https?:\/\/localhost/],
  // the highlighter has no grammar of these
  markdown: {
    anchor: { slugify: anchorOf },
    languageAlias: { rego: 'python', promql: 'python' },
    config: md => void md.core.ruler.push('links-to-files', ({ tokens, env }) => adaptLinks(tokens, env)),
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          // the name of a setting is one word, and its parts are found too; the functions are copied into the page
          options: {
            tokenize: text =>
              text
                .split(/[^\p{L}\p{N}_]+/u)
                .flatMap(word => (word.includes('_') ? [word, ...word.split('_')] : [word]))
                .filter(word => word !== ''),
          },
          searchOptions: {
            combineWith: 'AND',
            tokenize: text => text.split(/[^\p{L}\p{N}_]+/u).filter(word => word !== ''),
          },
        },
      },
    },
    outline: [2, 3],
    nav: [
      page('Install', '/docs/install'),
      page('Guide', '/docs/guide'),
      page('Reference', '/docs/reference/http'),
    ],
    sidebar: [
      {
        text: 'Start',
        items: [page('Overview', '/'), page('Install', '/docs/install'), page('Guide', '/docs/guide')],
      },
      {
        text: 'Operate',
        items: [
          page('Production topology', '/docs/production'),
          page('Developer portal', '/docs/portal'),
          page('In front of the gateway', '/docs/edge'),
          page('Sizing', '/docs/sizing'),
          page('Monitoring', '/docs/monitoring'),
          page('Backup, upgrade, rollback', '/docs/backup'),
          page('Troubleshooting', '/docs/troubleshooting'),
          page('Security', '/SECURITY'),
          page('Security review', '/docs/security-review'),
        ],
      },
      {
        text: 'Build',
        items: [
          page('Policies', '/policies/'),
          page('ToolSet and Tool', '/docs/reference/toolset'),
          page('ToolView', '/docs/reference/tool-views'),
          page('Access tokens for backends', '/docs/reference/backend-oauth'),
          page('MCP servers as sources', '/docs/reference/mcp-servers'),
          page('Clients', '/docs/reference/clients'),
          page('Architecture', '/docs/architecture'),
          page('Contributing', '/CONTRIBUTING'),
          page('Decisions', '/docs/decisions/'),
          page('Measurements', '/bench/'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('Settings', '/docs/reference/settings'),
          page('HTTP', '/docs/reference/http'),
          page('MCP', '/docs/reference/mcp'),
          page('Control plane', '/docs/reference/control-plane'),
          page('Fields of resources', '/docs/reference/resources'),
          page('Events', '/docs/reference/events'),
          page('Fairness', '/docs/reference/fairness'),
          page('Policy input', '/docs/reference/policy-input'),
          page('Glossary', '/docs/glossary'),
          page('Changes', '/CHANGELOG'),
        ],
      },
    ],
  },
})

/** A link to a file that is not a page becomes its text, because the site has no sources; a README is the index of its folder. */
function adaptLinks(tokens: readonly Token[], { relativePath }: { readonly relativePath: string }): void {
  for (const { children } of tokens) {
    if (children === null) continue
    const kept: Token[] = []
    let dropped = false
    for (const token of children) {
      if (token.type === 'link_open') {
        const href = token.attrGet('href') ?? ''
        dropped = isSource(href, relativePath)
        if (!/^[a-z]+:/.test(href)) token.attrSet('href', href.replace(/README\.md(?=#|$)/, 'index.md'))
      }
      if (!dropped || !token.type.startsWith('link_')) kept.push(token)
      if (token.type === 'link_close') dropped = false
    }
    children.splice(0, children.length, ...kept)
  }
}

function isSource(href: string, page: string): boolean {
  if (/^([a-z]+:|#|\/)/.test(href)) return false
  const path = join(ROOT, dirname(page), href.replace(/[?#].*$/, ''))
  return existsSync(path) && !path.endsWith('.md') && !existsSync(join(path, 'README.md'))
}

/** As GitHub makes them, where the same pages are read. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}
