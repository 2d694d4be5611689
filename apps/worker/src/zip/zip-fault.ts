/** What the service calls it when it refuses an upload; what a machine refuses goes by the same words. */
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

const words: Record<ZipReason, string> = {
  not_a_zip: 'this is no zip',
  truncated: 'the zip is cut off or damaged',
  encrypted: 'an encrypted zip is not taken',
  absolute_path: 'an entry that leads outside, by an absolute path',
  parent_path: 'an entry that leads outside, upwards',
  link: 'an entry that is neither file nor folder, but a link',
  device: 'an entry that is neither file nor folder, but a device',
  duplicate_path: 'two entries of one name',
  case_collision: 'two names that differ in case alone',
  bad_name: 'an entry whose name is none',
  too_many_entries: 'the zip has too many entries',
  too_large: 'the zip is too large when unpacked',
  ratio: 'the zip is packed too densely to be honest',
  size_mismatch: 'an entry that is not as large as it says',
  digest_mismatch: 'content that is not what its sum says',
};

/** A zip of which nothing more is unpacked. */
export class ZipFault extends Error {
  constructor(
    readonly reason: ZipReason,
    readonly path: string,
    detail = '',
  ) {
    super(`${reason}: ${words[reason]}${path ? ` (${JSON.stringify(path)})` : ''}${detail ? `: ${detail}` : ''}`);
  }
}
