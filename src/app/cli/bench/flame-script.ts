/** What the page of a flame graph does in a browser: draws, zooms, searches. It asks no server and keeps nothing. */

/** Plain JavaScript, put into the page as it is; it reads the element `data` and nothing else. */
export const FLAME_SCRIPT = `
'use strict'
const $ = id => document.getElementById(id)
const data = JSON.parse($('data').textContent)
const ROW = 19
const NAMES = { gateway: 'gateway', dependency: 'packages', node: 'Node', wasm: 'kernel (WASM)', native: 'native, system calls, garbage collector' }
const canvas = $('graph')
const pen = canvas.getContext('2d')

// every call with its place in the whole: from, width (shares of the total) and row
const boxes = []
const place = ([fn, selfUs, calls], from, row, parent) => {
  const box = { fn, selfUs, from, row, parent, us: selfUs, children: [] }
  boxes.push(box)
  let at = from
  for (const call of calls) {
    const child = place(call, at, row + 1, box)
    box.children.push(child)
    box.us += child.us
    at += child.us
  }
  return box
}
const root = { fn: -1, selfUs: 0, from: 0, row: 0, us: data.totalUs, children: [] }
boxes.push(root)
let end = 0
for (const call of data.calls) {
  const child = place(call, end, 1, root)
  root.children.push(child)
  end += child.us
}
root.us = Math.max(end, 1)
const byRow = []
for (const box of boxes) (byRow[box.row] ??= []).push(box)

let focus = root
let matches = new Set()
let rowOf0 = 0
const nameOf = box => (box.fn < 0 ? 'all' : data.functions[box.fn][0])
// many functions are called run or nothing at all: the file tells them apart
const labels = data.functions.map(([name, where]) => (name === '(anonymous)' && where ? where : where ? name + '  ' + where : name))
const labelOf = box => (box.fn < 0 ? 'all' : labels[box.fn])
const share = us => (us * 100 / data.totalUs).toFixed(us < data.totalUs / 100 ? 2 : 1) + ' %'
const perRequest = us => (us / data.totalUs * data.cpuUsPerRequest).toFixed(2)

function draw() {
  const style = getComputedStyle(document.documentElement)
  const colour = name => style.getPropertyValue('--' + name).trim()
  const colours = Object.fromEntries([...Object.keys(NAMES), 'hit', 'panel', 'on-call', 'line'].map(name => [name, colour(name)]))
  const width = canvas.clientWidth
  const ancestors = new Set()
  for (let box = focus; box; box = box.parent) ancestors.add(box)
  const inView = box => box.from < focus.from + focus.us && box.from + box.us > focus.from
  let rows = 1
  for (const box of boxes) if (box.row >= rows && inView(box) && box.us / focus.us * width >= 0.5) rows = box.row + 1
  const scale = window.devicePixelRatio || 1
  canvas.style.height = rows * ROW + 2 + 'px'
  canvas.width = width * scale
  canvas.height = (rows * ROW + 2) * scale
  pen.setTransform(scale, 0, 0, scale, 0, 0)
  pen.clearRect(0, 0, width, rows * ROW + 2)
  pen.font = '12px ui-monospace, monospace'
  pen.textBaseline = 'middle'
  const charWidth = pen.measureText('m').width
  for (let row = 0; row < rows; row++) {
    for (const box of byRow[row] ?? []) {
      if (!inView(box)) continue
      const x = Math.max(0, (box.from - focus.from) / focus.us * width)
      const right = Math.min(width, (box.from + box.us - focus.from) / focus.us * width)
      if (right - x < 0.5) continue
      const origin = box.fn < 0 ? 'native' : data.functions[box.fn][2]
      pen.globalAlpha = ancestors.has(box) && box !== focus ? 0.55 : 1
      pen.fillStyle = matches.has(box.fn) ? colours.hit : colours[origin]
      pen.fillRect(x, row * ROW + 1, Math.max(right - x - 1, 0.5), ROW - 1)
      const fits = Math.floor((right - x - 8) / charWidth)
      if (fits >= 3) {
        const name = labelOf(box)
        pen.fillStyle = matches.has(box.fn) ? '#fff' : colours['on-call']
        pen.fillText(name.length <= fits ? name : name.slice(0, fits - 1) + '…', x + 4, row * ROW + ROW / 2 + 1)
      }
    }
  }
  pen.globalAlpha = 1
}

function boxAt(event) {
  const { left, top, width } = canvas.getBoundingClientRect()
  const us = focus.from + (event.clientX - left) / width * focus.us
  return (byRow[Math.floor((event.clientY - top - 1) / ROW)] ?? []).find(box => box.from <= us && us < box.from + box.us)
}

function zoom(box) {
  focus = box
  draw()
}

function search(text) {
  const wanted = text.trim().toLowerCase()
  matches = new Set()
  if (wanted !== '')
    data.functions.forEach(([name, where], at) => {
      if ((name + ' ' + where).toLowerCase().includes(wanted)) matches.add(at)
    })
  // a call within a call that matches is in its time already
  let us = 0
  const add = box => {
    if (matches.has(box.fn)) us += box.us
    else box.children.forEach(add)
  }
  add(root)
  $('found').textContent = wanted === '' ? '' : matches.size + (matches.size === 1 ? ' function, ' : ' functions, ') + share(us)
  for (const row of $('functions').rows) row.hidden = wanted !== '' && !matches.has(Number(row.dataset.at))
  draw()
}

canvas.addEventListener('click', event => {
  const box = boxAt(event)
  if (box) zoom(box === focus ? box.parent ?? root : box)
})
canvas.addEventListener('mousemove', event => {
  const box = boxAt(event)
  const tip = $('tip')
  tip.hidden = !box
  if (!box) return
  const where = box.fn < 0 ? '' : data.functions[box.fn][1]
  tip.textContent = nameOf(box) + (where ? '\\n' + where : '') + '\\n' + share(box.us) + ' with what it calls, ' + share(box.selfUs) + ' itself; ' + perRequest(box.us) + ' µs of CPU time per request'
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px'
  tip.style.top = Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8) + 'px'
})
canvas.addEventListener('mouseleave', () => { $('tip').hidden = true })
$('search').addEventListener('input', event => search(event.target.value))
$('reset').addEventListener('click', () => {
  $('search').value = ''
  search('')
  zoom(root)
})
document.addEventListener('keydown', event => {
  if (event.key === 'Escape') $('reset').click()
  if (event.key === '/' && document.activeElement !== $('search')) {
    event.preventDefault()
    $('search').focus()
  }
})
data.functions.forEach(([name, where, , selfUs, totalUs], at) => {
  if (selfUs === 0) return
  const row = $('functions').insertRow()
  row.dataset.at = at
  row.tabIndex = 0
  for (const [cell, value] of [share(selfUs), share(totalUs), perRequest(selfUs), name, where].entries()) {
    const td = row.insertCell()
    td.textContent = value
    if (cell < 3) td.className = 'n'
  }
  const show = () => {
    $('search').value = name
    search(name)
    scrollTo({ top: 0 })
  }
  row.addEventListener('click', show)
  row.addEventListener('keydown', event => { if (event.key === 'Enter') show() })
})
for (const [origin, name] of Object.entries(NAMES)) {
  const item = document.createElement('li')
  const mark = document.createElement('i')
  mark.style.background = 'var(--' + origin + ')'
  item.append(mark, name)
  $('legend').append(item)
}
addEventListener('resize', draw)
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw)
draw()
document.documentElement.dataset.drawn = String(boxes.length)
`
