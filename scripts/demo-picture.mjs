// The picture in the README: the demo as it runs on a terminal, as an SVG that moves. npm run docs:demo
//
// The command is dispatched in this process, on a terminal that writes down what it is told to show. Each frame that is
// kept becomes a group of texts; a style sheet shows one group after the other, and the last one stays for a while. A
// reader who asked for less motion sees the last one only.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { ROOT, buildIfStale, installDependencies } from './setup.mjs'

installDependencies()
buildIfStale()
const { systemClock } = await import('../dist/clock.js')
const { dispatch } = await import('../dist/doors/cli/dispatch.js')
const { Output } = await import('../dist/doors/cli/terminal/output.js')

const FILE = join(ROOT, 'docs', 'images', 'demo.svg')
const COLUMNS = 94
const ROWS = 40
const FRAME_MS = 800
const LAST_FRAME_MS = 5_000
const [CELL_WIDTH, CELL_HEIGHT, MARGIN] = [7.8, 17, 16]
const COLOURS = { 31: '#e5484d', 32: '#46a758', 33: '#d9a514', 36: '#12a5bd' }

class Recorder extends Writable {
  isTTY = true
  columns = COLUMNS
  rows = ROWS
  frames = []
  #paintedAt = -Infinity

  _write(chunk, _encoding, done) {
    const text = chunk.toString()
    // A repaint begins by going up; what is written after the last one belongs under it.
    const isPaint = text.includes('\r')
    if (isPaint) this.#paint(text)
    else this.last += text
    done()
  }

  last = ''

  #paint(text) {
    this.last = text.slice(text.indexOf('\r') + 1)
    if (performance.now() - this.#paintedAt < FRAME_MS) return
    this.#paintedAt = performance.now()
    this.frames.push(this.last)
  }
}

const directory = mkdtempSync(join(tmpdir(), 'punctual-demo-'))
process.chdir(directory) // The demo names its store as a visitor's would: .punctual in an empty folder.
const terminal = new Recorder()
const env = { TERM: 'xterm-256color', npm_lifecycle_event: 'demo' } // As a visitor of the clone runs it.
const out = new Output(terminal, env)
try {
  const code = await dispatch(['demo'], { env, input: process.stdin, out, err: out, clock: systemClock })
  if (code !== 0) throw new Error(`the demo ended with ${code}`)
  writeFileSync(FILE, picture([...terminal.frames, terminal.last].map(readFrame)))
  console.log(`docs/images/demo.svg, ${terminal.frames.length + 1} frames`)
} finally {
  process.chdir(ROOT)
  rmSync(directory, { recursive: true, force: true })
}
process.exit(0)

/** Lines of pieces, each with its column, text and look. */
function readFrame(text) {
  return text.split('\n').map((line) => {
    const pieces = []
    let [column, bold, dim, colour] = [0, false, false, undefined]
    // eslint-disable-next-line no-control-regex
    for (const [part, code] of line.matchAll(/\u001B\[\??([0-9;]*)[A-Za-z]|[^\u001B]+/g)) {
      if (!part.startsWith('\u001B')) {
        if (part.trim() !== '') pieces.push({ column, text: part, bold, dim, colour })
        column += [...part].length
      } else if (part.endsWith('m')) {
        if (code === '1') bold = true
        else if (code === '2') dim = true
        else if (code === '22') [bold, dim] = [false, false]
        else colour = code === '39' ? undefined : code
      }
    }
    return pieces
  })
}

function picture(frames) {
  const width = Math.ceil(COLUMNS * CELL_WIDTH + 2 * MARGIN)
  const height = Math.max(...frames.map((lines) => lines.length)) * CELL_HEIGHT + 2 * MARGIN
  const totalMs = (frames.length - 1) * FRAME_MS + LAST_FRAME_MS
  const groups = frames.map((lines, i) => {
    const from = ((i * FRAME_MS) / totalMs) * 100
    const until = i === frames.length - 1 ? 100 : (((i + 1) * FRAME_MS) / totalMs) * 100
    return { from, until, lines }
  })
  const rules = groups.map(({ from, until }, i) => {
    const [show, hide] = [from.toFixed(2), until.toFixed(2)]
    const before = i === 0 ? '' : `0%{visibility:hidden}`
    const after = i === groups.length - 1 ? '' : `${hide}%{visibility:hidden}`
    return `@keyframes f${i}{${before}${show}%{visibility:visible}${after}}#f${i}{animation:f${i} ${totalMs}ms step-end infinite}`
  })
  const last = groups.length - 1
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="punctual demo: 305 messages arrive on time">
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dae0;white-space:pre}
.b{font-weight:700;fill:#fff}.d{fill:#8b929e}
${Object.entries(COLOURS)
  .map(([code, colour]) => `.c${code}{fill:${colour}}`)
  .join('')}
g{visibility:hidden}
#f${last}{visibility:visible}
@media (prefers-reduced-motion:no-preference){#f${last}{visibility:hidden}
${rules.join('\n')}}
</style>
<rect width="100%" height="100%" rx="10" fill="#16181d"/>
${groups.map(({ lines }, i) => `<g id="f${i}">${lines.flatMap(drawLine).join('')}</g>`).join('\n')}
</svg>
`
}

/** Each piece is stretched to its cells, whatever font the reader's machine has. */
function drawLine(pieces, row) {
  const y = MARGIN + (row + 0.8) * CELL_HEIGHT
  return pieces.map(({ column, text, bold, dim, colour }) => {
    const kept = text.trimEnd()
    const lead = kept.length - kept.trimStart().length
    const x = MARGIN + (column + lead) * CELL_WIDTH
    const shown = kept.trimStart()
    const look = [bold && 'b', dim && 'd', colour && `c${colour}`].filter(Boolean).join(' ')
    const style = look === '' ? '' : ` class="${look}"`
    return `<text x="${round(x)}" y="${round(y)}" textLength="${round([...shown].length * CELL_WIDTH)}"${style}>${escapeXml(shown)}</text>`
  })
}

function round(value) {
  return Math.round(value * 10) / 10
}

function escapeXml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
