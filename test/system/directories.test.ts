import { expect } from 'chai'
import { Directories } from '../../src/system/files/directories.ts'

describe('the directories on Windows', () => {
  const directoriesOf = (env: NodeJS.ProcessEnv) =>
    new Directories({ USERPROFILE: '/Users/ada', ...env }, 'win32')

  it('are those that the system names', () => {
    const { config, data, state, cache, locks } = directoriesOf({
      APPDATA: '/roaming',
      LOCALAPPDATA: '/local',
    })
    expect({ config, data, state, cache, locks }).to.deep.equal({
      config: '/roaming/chatctl',
      data: '/local/chatctl',
      state: '/local/chatctl/state',
      cache: '/local/chatctl/cache',
      locks: '/local/chatctl/locks',
    })
  })

  it('are in the home directory if the system names none, or a relative one', () => {
    for (const named of [undefined, '', 'relative', 'C:relative']) {
      const { config, data, locks } = directoriesOf({ APPDATA: named, LOCALAPPDATA: named })
      expect({ config, data, locks }).to.deep.equal({
        config: '/Users/ada/AppData/Roaming/chatctl',
        data: '/Users/ada/AppData/Local/chatctl',
        locks: '/Users/ada/AppData/Local/chatctl/locks',
      })
    }
  })
})
