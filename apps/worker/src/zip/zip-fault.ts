/** Reasons for refusing a zip, with the names that the service uses when it refuses an upload. */
export type ZipReason =
  | 'not_a_zip'
  | 'truncated'
  | 'encrypted'
  | 'absolute_path'
  | 'parent_path'
  | 'link'
  | 'device'
  | 'duplicate_path'
  | 'case_collision'
  | 'bad_name'
  | 'too_many_entries'
  | 'too_large'
  | 'ratio'
  | 'size_mismatch'
  | 'digest_mismatch';

const messages: Record<ZipReason, string> = {
  not_a_zip: 'this is not a zip',
  truncated: 'the zip is cut off or damaged',
  encrypted: 'an encrypted zip is not supported',
  absolute_path: 'an entry has an absolute path',
  parent_path: 'an entry has a path that contains ..',
  link: 'an entry is a link',
  device: 'an entry is a device',
  duplicate_path: 'two entries have the same name',
  case_collision: 'two names differ only in case',
  bad_name: 'the name of an entry is not valid',
  too_many_entries: 'the zip has too many entries',
  too_large: 'the zip is too large when unpacked',
  ratio: 'the compression ratio of the zip is too high',
  size_mismatch: 'the size of an entry does not match its header',
  digest_mismatch: 'the content does not match its digest',
};

/** Error of a zip that is refused; nothing more of it is unpacked. */
export class ZipFault extends Error {
  constructor(
    readonly reason: ZipReason,
    readonly path: string,
    detail = '',
  ) {
    super(`${reason}: ${messages[reason]}${path ? ` (${JSON.stringify(path)})` : ''}${detail ? `: ${detail}` : ''}`);
  }
}
