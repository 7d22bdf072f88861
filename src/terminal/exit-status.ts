/** What an exit status means, in every command. */
export const EXIT_STATUS = {
  0: 'done',
  1: 'incomplete, or different from the recording; also a local failure, such as a full disk',
  2: 'an option, a setting or a file is invalid',
  3: 'the service or the gateway was not reached, failed, or refused the request',
  4: 'it is not known whether a login or a deletion was carried out',
  5: 'events may have been missed',
  6: 'not logged in, or the token or the secret is refused',
  130: 'stopped by Ctrl-C; 129 by SIGHUP, 143 by SIGTERM',
} as const;

/** An exit status. */
export type ExitStatus = keyof typeof EXIT_STATUS;
