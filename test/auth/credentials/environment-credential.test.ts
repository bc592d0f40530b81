import { expect } from 'chai'
import { readIdentitySource } from '../../../src/auth/credentials/environment-credential.ts'

const read = (value: string | undefined) => readIdentitySource({ CHATCTL_OIDC: value })

describe('the source of an identity token', () => {
  it('is that of GitHub or GitLab, a variable, or a file', () => {
    expect(read('github')).to.deep.equal({ kind: 'github' })
    expect(read('gitlab')).to.deep.equal({ kind: 'variable', name: 'CHATCTL_ID_TOKEN', isGitlab: true })
    expect(read('env:MY_TOKEN')).to.deep.equal({ kind: 'variable', name: 'MY_TOKEN', isGitlab: false })
    expect(read('file:/run/token: 1')).to.deep.equal({ kind: 'file', path: '/run/token: 1' })
    expect([read(undefined), read('')]).to.deep.equal([undefined, undefined])
  })

  it('is refused without a word of it if it is anything else', () => {
    for (const value of ['GitHub', 'env:', 'env:a b', 'file:', 'eyJh.eyJp.c2ln', ' gitlab'])
      expect(() => read(value), value).to.throw('CHATCTL_OIDC is not github, gitlab, env:NAME, or file:PATH')
  })
})
