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
  absolute_path: 'an entry that leads outside, by an absolute path',
  parent_path: 'an entry that leads outside, upwards',
  link: 'an entry that is neither file nor folder, but a link',
  device: 'an entry that is neither file nor folder, but a device',
  duplicate_path: 'two entries of one name',
  case_collision: 'two names that differ only in case',
  bad_name: 'an entry whose name is not valid',
  too_many_entries: 'the zip has too many entries',
  too_large: 'the zip is too large when unpacked',
  ratio: 'the zip is packed too densely to be honest',
  size_mismatch: 'an entry whose size is not the declared size',
  digest_mismatch: 'content that does not match its checksum',
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
