/** The build replaces such an import with the text of the file. */
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
