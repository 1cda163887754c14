// Programs of another suite of Debian, in a folder of their own: nothing is installed, and the system's own stay as they are.
//
//   folder/root    what the packages hold
//   folder/tree    what is called: each program through the loader and with the libraries that came with it
//
// The host is that of the machine's own list of sources, read when this runs.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  closeSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** Answers the folder with the programs. */
export function bringFromDebian(folder, { suite, packages }, names) {
  const [root, tree] = [join(folder, 'root'), join(folder, 'tree')]
  const done = join(folder, 'done')
  if (existsSync(done)) return join(tree, 'bin')
  for (const archive of download(folder, suite, packages)) execFileSync('dpkg', ['-x', archive, root])
  makeTree(root, tree, names)
  writeFileSync(done, '')
  return join(tree, 'bin')
}

function download(folder, suite, packages) {
  for (const name of ['lists/partial', 'archives/partial']) mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, 'status'), '')
  writeFileSync(join(folder, 'sources.list'), `deb [signed-by=${KEYRING}] ${mirror()} ${suite} main\n`)
  const options = {
    'Dir::Etc::sourcelist': join(folder, 'sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': join(folder, 'lists'),
    // As if nothing were installed: all that they need comes along, the loader and the C library too.
    'Dir::State::status': join(folder, 'status'),
    'Dir::Cache': folder,
    'Dir::Cache::archives': join(folder, 'archives'),
    'APT::Install-Recommends': 'false',
    'APT::Sandbox::User': 'root',
  }
  const words = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
  execFileSync('apt-get', [...words, '-qq', 'update'], { stdio: ['ignore', 'ignore', 'inherit'] })
  execFileSync('apt-get', [...words, '-qq', '-y', '--download-only', 'install', ...packages], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const archives = join(folder, 'archives')
  return readdirSync(archives)
    .filter((name) => name.endsWith('.deb'))
    .map((name) => join(archives, name))
}

function mirror() {
  const folder = '/etc/apt/sources.list.d'
  const lists = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
  for (const list of ['/etc/apt/sources.list', ...lists]) {
    if (!existsSync(list)) continue
    const found = /^(?:URIs:|deb(?: \[[^\]]*\])?)\s+(\S+\/debian)\/?(?:\s|$)/m.exec(
      readFileSync(list, 'utf8'),
    )
    if (found !== null) return found[1]
  }
  throw new Error('no source of Debian in /etc/apt: these servers can be brought on a Debian only')
}

/** `bin` and `sbin` are one folder there; `share` is that of the packages. */
function makeTree(root, tree, names) {
  const bin = join(tree, 'bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(join(root, 'usr/share'), join(tree, 'share'))
  symlinkSync('bin', join(tree, 'sbin'))
  const libraries = readdirSync(join(root, 'usr/lib')).find((name) => name.includes('-linux-'))
  const paths = [join(root, 'usr/lib', libraries), join(root, 'usr/lib')]
  const loader = join(
    paths[0],
    readdirSync(paths[0]).find((name) => /^ld-linux.*\.so\.\d+$/.test(name)),
  )
  const call = (program) =>
    `exec ${loader} --argv0 ${basename(program)} --library-path ${paths.join(':')} ${program} "$@"${behind(root, basename(program))}`
  const found = programsIn(root)
  for (const [name, program] of found) writeProgram(join(bin, name), program, call, tree)
  for (const [name, original] of Object.entries(names))
    writeProgram(join(bin, name), found.get(original), call, tree)
}

function programsIn(root) {
  const folders = ['usr/bin', 'usr/sbin'].map((name) => join(root, name)).filter((one) => existsSync(one))
  const paths = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  return new Map(
    paths.filter((path) => existsSync(path) && statSync(path).isFile()).map((path) => [basename(path), path]),
  )
}

function writeProgram(place, program, call, tree) {
  const text = isCompiled(program)
    ? `#!/bin/sh\n${call(program)}\n`
    : `#!/bin/sh\nexec ${program} --basedir=${tree} "$@"\n`
  writeFileSync(place, text)
  chmodSync(place, 0o755)
}

/** Servers that look for their messages where their package would have put them. */
function behind(root, name) {
  return name === 'mysqld' || name === 'mariadbd'
    ? ` --lc-messages-dir=${join(root, 'usr/share', existsSync(join(root, 'usr/share/mariadb')) ? 'mariadb' : 'mysql')}`
    : ''
}

function isCompiled(path) {
  const file = openSync(path, 'r')
  const head = Buffer.alloc(4)
  readSync(file, head, 0, 4, 0)
  closeSync(file)
  return head.toString('latin1') === '\x7fELF'
}
