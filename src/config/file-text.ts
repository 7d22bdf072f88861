/** Removes the byte order mark of a file that was read as UTF-8. Null for a file in UTF-16: then it has NUL characters. */
export function toFileText(read: string): string | null {
  return read.includes('\0') ? null : read.replace(/^\uFEFF/, '');
}

/** The problem with a file in UTF-16. Completes "<variable or option> …". */
export const UTF_16 =
  'is in UTF-16, as Windows PowerShell writes files with >: save the file in UTF-8, for example with `| Out-File -Encoding utf8`.';
