import { expect } from 'chai'
import { defaultStateName, stateNameFor } from '../../../src/users/state/state-path.ts'

describe('the default name of a state file', () => {
  it('is derived from the name of the file, in the same directory', () => {
    expect(['users.yaml', 'config/team.users.csv', 'staff'].map(stateNameFor)).to.deep.equal([
      'users.state.json',
      'config/team.users.state.json',
      'staff.state.json',
    ])
  })

  it('is users.state.json for stdin', () => {
    expect([stateNameFor('-'), defaultStateName]).to.deep.equal(['users.state.json', 'users.state.json'])
  })
})
