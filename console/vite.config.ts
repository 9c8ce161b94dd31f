/** How console and portal are built: one page each, hashed files, no reference to another origin. */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export default defineConfig({
  root: file('.'),
  // relative to the <base> of the page, so that it works behind any path prefix
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/console/static',
    rolldownOptions: {
      input: { console: file('index.html'), portal: file('portal.html') },
      // on a busy machine it would report which plugins took how long
      checks: { bundlerTimings: false },
    },
    emptyOutDir: true,
    target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'],
    // data: addresses would not be cached apart
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // of the packages in the bundle; it is shipped beside it
    license: { fileName: 'licenses.md' },
  },
})
