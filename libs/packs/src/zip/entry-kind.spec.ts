import { checkEntryKind } from './entry-kind';

const toUnixAttributes = (mode: number) => (mode << 16) >>> 0;

describe('the kind of a zip’s entry', () => {
  it.each<[string, number, boolean, string | null]>([
    ['no attributes, a file', 0, false, null],
    ['no attributes, a folder', 0, true, null],
    ['a plain file', toUnixAttributes(0o100644), false, null],
    ['a plain file named like a folder', toUnixAttributes(0o100644), true, 'bad_name'],
    ['a folder', toUnixAttributes(0o040755), true, null],
    ['a folder named like a file', toUnixAttributes(0o040755), false, 'bad_name'],
    ['a DOS folder named like a file', 0x10, false, 'bad_name'],
    ['a DOS folder', 0x10, true, null],
    ['a plain file with the bit of a DOS folder', toUnixAttributes(0o100644) + 0x10, false, null],
    ['a link', toUnixAttributes(0o120777), false, 'link'],
    ['a reparse point', 0x400, false, 'link'],
    ['a plain file that is a reparse point', toUnixAttributes(0o100644) + 0x400, false, 'link'],
    ['a named pipe', toUnixAttributes(0o010644), false, 'device'],
    ['a device', toUnixAttributes(0o060644), false, 'device'],
    ['a socket', toUnixAttributes(0o140644), true, 'device'],
  ])('%s is checked', (_, attributes, isFolder, fault) => {
    expect(checkEntryKind(attributes, isFolder)).toBe(fault);
  });
});
