import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect } from 'chai'
import { openBrowser } from '../../src/auth/open-browser.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'
import { until } from '../support/until.ts'

const url = 'http://127.0.0.1:5/callback/a%20b%25s'

describe('the browser in BROWSER', () => {
  const directory = perTest(makeEmptyDirectory)
  before(function () {
    if (process.platform === 'win32') this.skip()
  })

  /** A program that records its arguments. */
  const program = (name: string, after = '') => {
    const path = join(directory.path, name)
    writeFileSync(
      path,
      `#!/bin/sh\nprintf '%s\\n' "$@" > "${path}.part"; mv "${path}.part" "${path}.args"\n${after}`,
    )
    chmodSync(path, 0o755)
    return path
  }
  const argsOf = (path: string) => readFileSync(`${path}.args`, 'utf8').trimEnd().split('\n')

  it('gets the URL as its last argument', async () => {
    const path = program('a')
    expect(await openBrowser(url, ` ${path}  --new-window `)).to.equal(true)
    expect(argsOf(path)).to.deep.equal(['--new-window', url])
  })

  it('gets the URL where %s is, and a percent sign where %% is', async () => {
    const path = program('a')
    expect(await openBrowser(url, `${path} --app=%s --zoom=50%% end`)).to.equal(true)
    expect(argsOf(path)).to.deep.equal([`--app=${url}`, '--zoom=50%', 'end'])
  })

  it('may be a path with spaces in quotes', async () => {
    const path = program('a browser')
    expect(await openBrowser(url, `"${path}" --new`)).to.equal(true)
    expect(argsOf(path)).to.deep.equal(['--new', url])
  })

  it('is the first one of a list that starts and succeeds', async () => {
    const [failing, good, further] = [program('a', 'exit 3'), program('b'), program('c')]
    const list = ['/nowhere/browser', '', failing, `${good} %s`, further].join(delimiter)
    expect(await openBrowser(url, list)).to.equal(true)
    expect(argsOf(failing)).to.deep.equal([url])
    expect(argsOf(good)).to.deep.equal([url])
    expect(existsSync(`${further}.args`)).to.equal(false)
  })

  it('cannot be opened if every one of a list fails', async () =>
    expect(await openBrowser(url, `/nowhere/browser${delimiter}${program('a', 'exit 1')}`)).to.equal(false))

  it('counts as opened while it runs, and no further one is tried', async () => {
    const [running, further] = [program('a', 'exec sleep 1'), program('b')]
    const opened = openBrowser(url, `${running}${delimiter}${further}`)
    await until(() => existsSync(`${running}.args`))
    expect(await opened).to.equal(true)
    expect(existsSync(`${further}.args`)).to.equal(false)
  })
})
