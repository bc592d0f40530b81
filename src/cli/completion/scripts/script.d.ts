/** The build puts the text of the file in the place of such an import. */
declare module '*.bash' {
  const text: string
  export default text
}
declare module '*.zsh' {
  const text: string
  export default text
}
declare module '*.fish' {
  const text: string
  export default text
}
declare module '*.ps1' {
  const text: string
  export default text
}
