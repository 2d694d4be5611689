import type { BundleFaultReason } from '@muster/contracts';
import { randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import type { BundleFile } from './check-bundle';
import { encodeExtraField, listInventory, type WrittenEntry, type WrittenZip, makeTestZip } from './zip-writer.harness';

/** A zip that must be rejected, and one of the reasons that the error must contain. */
export interface HostileZip {
  kind: string;
  reason: BundleFaultReason;
  zip: Buffer;
  inventory: BundleFile[];
}

const main: WrittenEntry = { name: 'main.py', bytes: 'print("hello")\n' };
const mebibyte = 1024 * 1024;

/**
 * Returns hostile zips. Each has the inventory that an honest author would have written, so only the zip is invalid.
 */
export function makeHostileZips(): HostileZip[] {
  const zips: HostileZip[] = [];
  const addHostileZip = (kind: string, reason: BundleFaultReason, entries: WrittenEntry[], options: WrittenZip = {}) =>
    zips.push({ kind, reason, zip: makeTestZip(entries, options), inventory: listInventory(entries) });
  const addRawZip = (kind: string, reason: BundleFaultReason, zip: Buffer) =>
    zips.push({ kind, reason, zip, inventory: listInventory([main]) });
  const addZipWithName = (
    kind: string,
    reason: BundleFaultReason,
    name: string | Buffer,
    more: Partial<WrittenEntry> = {},
  ) => addHostileZip(kind, reason, [main, { name, bytes: 'x', ...more }]);
  const good = makeTestZip([main]);

  addRawZip('nothing at all', 'not_a_zip', Buffer.alloc(0));
  addRawZip('a text', 'not_a_zip', Buffer.from('hello, this is not a zip'));
  addRawZip('random bytes', 'not_a_zip', randomBytes(100_000));
  addRawZip('another kind of archive', 'not_a_zip', Buffer.from('\x1f\x8b\x08\x00 and so on', 'latin1'));
  addRawZip('the first half of a zip only', 'truncated', good.subarray(0, good.length / 2));
  addRawZip('no end record', 'truncated', good.subarray(0, good.length - 22));
  addHostileZip('data after the end of the zip', 'not_a_zip', [main], { after: Buffer.from('more') });
  addHostileZip('a program before the start of the zip', 'not_a_zip', [main], {
    before: Buffer.from('#!/bin/sh\nexit\n'),
  });
  addHostileZip('bytes between the entries', 'not_a_zip', [main, { name: 'b' }], {
    betweenEntries: Buffer.from('hidden'),
  });
  addHostileZip('a comment shorter than declared', 'not_a_zip', [main], {
    comment: Buffer.from('abc'),
    end: { comment: 9 },
  });
  addHostileZip('several disks', 'not_a_zip', [main], { end: { disk: 1 } });
  addHostileZip('fewer entries than declared', 'not_a_zip', [main], { end: { entries: 2, entriesHere: 2 } });
  addHostileZip('more entries than declared', 'not_a_zip', [main, { name: 'b' }], {
    end: { entries: 1, entriesHere: 1 },
  });
  addHostileZip('a directory at another position', 'not_a_zip', [main], { end: { start: 3 } });
  addHostileZip('a directory of another size', 'not_a_zip', [main], { end: { size: 20 } });
  addHostileZip('a zip64 end record that differs', 'not_a_zip', [main], { zip64End: true, end: { size: 7 } });
  addZipWithName('an unknown method', 'not_a_zip', 'b', { method: 12 });
  addZipWithName('truncated extra fields', 'not_a_zip', 'b', { extra: Buffer.from([9, 0, 200, 0]) });
  addHostileZip('an entry that begins within another', 'not_a_zip', [main, { name: 'b', headerAt: 5 }]);
  addHostileZip('two entries with the same bytes', 'not_a_zip', [{ ...main }, { name: 'b', headerAt: 0 }]);
  addHostileZip('overlapping files, as in a zip bomb', 'not_a_zip', makeOverlappingEntries());

  addZipWithName('an encrypted file', 'encrypted', 'b', { flags: 0x801 });
  addZipWithName('strong encryption', 'encrypted', 'b', { flags: 0x841 });
  addZipWithName('a masked header', 'encrypted', 'b', { flags: 0x2800 });
  addZipWithName('AES', 'encrypted', 'b', { method: 99 });

  addZipWithName('an absolute path', 'absolute_path', '/etc/passwd');
  addZipWithName('a drive letter', 'absolute_path', 'C:/Windows/x.dll');
  addZipWithName('a path relative to a drive', 'absolute_path', 'c:x');
  addZipWithName('a path on another host', 'absolute_path', '\\\\host\\share\\x');
  addZipWithName('a parent path', 'parent_path', '../x');
  addZipWithName('a parent path in the middle', 'parent_path', 'a/../../x');
  addZipWithName('a parent path at the end', 'parent_path', 'a/..');
  addZipWithName('a parent path with backslashes', 'parent_path', 'a\\..\\..\\x');
  addZipWithName('a parent folder', 'parent_path', '../', { bytes: '' });
  addZipWithName('a symbolic link', 'link', 'b', { mode: 0o120777, bytes: '/etc/passwd' });
  addZipWithName('a link that claims to be from DOS', 'link', 'b', { mode: 0o120777, madeBy: 0x0014 });
  addZipWithName('a Windows link', 'link', 'b', { attributes: 0x400 });
  addZipWithName('a FIFO', 'device', 'b', { mode: 0o010644 });
  addZipWithName('a socket', 'device', 'b', { mode: 0o140644 });
  addZipWithName('a character device', 'device', 'b', { mode: 0o020644 });
  addZipWithName('a block device', 'device', 'b', { mode: 0o060644 });

  addHostileZip('a path twice', 'duplicate_path', [main, { ...main, bytes: 'other' }]);
  addHostileZip('a folder twice', 'duplicate_path', [
    main,
    { name: 'a/', mode: 0o40755 },
    { name: 'a/', mode: 0o40755 },
  ]);
  addHostileZip('a file, and then a folder of its name', 'duplicate_path', [
    { name: 'a', bytes: '1' },
    { name: 'a/b' },
  ]);
  addHostileZip('a folder, and then a file of its name', 'duplicate_path', [
    { name: 'a/b' },
    { name: 'a', bytes: '1' },
  ]);
  addHostileZip('a folder entry and a file of its name', 'duplicate_path', [
    { name: 'a', bytes: '1' },
    { name: 'a/', mode: 0o40755 },
  ]);
  addHostileZip('two names that differ in case', 'case_collision', [main, { name: 'MAIN.py' }]);
  addHostileZip('two folders that differ in case', 'case_collision', [{ name: 'lib/a' }, { name: 'Lib/b' }]);
  addHostileZip('two names beyond ASCII that differ in case', 'case_collision', [
    { name: 'größe' },
    { name: 'GRÖSSE' },
  ]);

  addZipWithName('a dot segment', 'bad_name', './a');
  addZipWithName('an empty segment', 'bad_name', 'a//b');
  addZipWithName('an empty name', 'bad_name', '');
  addZipWithName('a NUL', 'bad_name', 'a\0b');
  addZipWithName('a line feed', 'bad_name', 'a\nb');
  addZipWithName('a control character beyond ASCII', 'bad_name', 'a\u009bb');
  addZipWithName('a backslash', 'bad_name', 'a\\b');
  addZipWithName('a name that is not UTF-8', 'bad_name', Buffer.from([0x61, 0xff, 0xfe]));
  addZipWithName('another encoding than declared', 'bad_name', Buffer.from('größe'), { flags: 0 });
  addZipWithName('a name that is not normalized', 'bad_name', 'gro\u0308\u00dfe');
  addZipWithName('a segment of 256 bytes', 'bad_name', 'x'.repeat(256));
  addZipWithName('a path of 4,097 bytes', 'path_too_long', `${'x'.repeat(255)}/`.repeat(16).concat('x'));
  addZipWithName(
    'a path of 4,097 bytes with fewer characters',
    'path_too_long',
    `${'ß'.repeat(127)}x/`.repeat(16).concat('x'),
  );
  addZipWithName('a path of 101 segments', 'path_too_long', `${'a/'.repeat(100)}x`);
  addZipWithName('another name in the local header', 'bad_name', 'b', { local: { name: '../b' } });
  addZipWithName('another name in an extra field', 'bad_name', 'b', {
    extra: encodeExtraField(0x7075, Buffer.concat([Buffer.alloc(5), Buffer.from('../b')])),
  });
  addZipWithName('a folder with the name of a file', 'bad_name', 'b', { mode: 0o40755, bytes: '' });
  addZipWithName('a file with the name of a folder', 'bad_name', 'b/', { mode: 0o100644, bytes: '' });

  addHostileZip(
    '10,001 entries',
    'too_many_entries',
    Array.from({ length: 10_001 }, (_, at) => ({ name: `f${at}` })),
  );
  addHostileZip('a declared size of 600 MiB', 'too_large', [main, { name: 'b', central: { size: 600 * mebibyte } }]);
  addHostileZip('20 MiB of zeros', 'ratio', [main, { name: 'zeros', bytes: Buffer.alloc(20 * mebibyte) }]);
  addZipWithName('a folder with bytes', 'size_mismatch', 'b/', { mode: 0o40755 });
  addZipWithName('more bytes than declared', 'size_mismatch', 'b', {
    bytes: 'x'.repeat(5000),
    central: { size: 1 },
    local: { size: 1 },
  });
  addZipWithName('a zip bomb that declares a small size', 'size_mismatch', 'b', {
    bytes: 'x',
    packed: deflateRawSync(Buffer.alloc(64 * mebibyte)),
  });
  addZipWithName('fewer bytes than declared', 'size_mismatch', 'b', { central: { size: 9 }, local: { size: 9 } });
  addZipWithName('another size in the local header', 'size_mismatch', 'b', { local: { size: 9 } });
  addZipWithName('another size in the data descriptor', 'size_mismatch', 'b', {
    descriptor: Buffer.from('PK\x07\x08 and so on..'),
  });
  addZipWithName('a data descriptor that is too long', 'not_a_zip', 'b', { descriptor: Buffer.alloc(25) });
  addZipWithName('invalid deflated data', 'size_mismatch', 'b', { packed: Buffer.from([0xff, 0xff, 0xff]) });
  addZipWithName('bytes after the deflated data', 'size_mismatch', 'b', {
    packed: Buffer.concat([deflateRawSync(Buffer.from('x')), Buffer.from('hidden')]),
  });
  addZipWithName('many bytes after the deflated data', 'size_mismatch', 'b', {
    bytes: randomBytes(300_000),
    packed: Buffer.concat([deflateRawSync(randomBytes(300_000)), randomBytes(100_000)]),
  });
  addZipWithName('a stored file with two sizes', 'size_mismatch', 'b', { method: 0, central: { size: 2 } });
  addZipWithName('a wrong checksum', 'digest_mismatch', 'b', { central: { crc32: 7 }, local: { crc32: 7 } });
  addZipWithName('another checksum in the local header', 'digest_mismatch', 'b', { local: { crc32: 7 } });
  const [first] = listInventory([main]) as [BundleFile];
  const addZipWithInventory = (kind: string, reason: BundleFaultReason, inventory: BundleFile[]) =>
    zips.push({ kind, reason, zip: makeTestZip([main]), inventory });
  addZipWithInventory('a file that is missing in the inventory', 'missing_in_inventory', []);
  addZipWithInventory('an inventory with an additional file', 'missing_in_zip', [first, { ...first, path: 'b' }]);
  addZipWithInventory('another size than in the inventory', 'size_mismatch', [{ ...first, size: first.size + 1 }]);
  addZipWithInventory('another digest than in the inventory', 'digest_mismatch', [
    { ...first, sha256: 'f'.repeat(64) },
  ]);
  addZipWithInventory('a path twice in the inventory', 'duplicate_path', [first, first]);
  return zips;
}

/**
 * Returns the entries of a zip bomb: the deflated bytes of each entry include the header and the bytes of the next
 * entry.
 */
function makeOverlappingEntries(): WrittenEntry[] {
  const kernel = deflateRawSync(Buffer.alloc(100_000));
  return Array.from({ length: 20 }, (_, at) => ({
    name: `f${at}`,
    bytes: Buffer.alloc(100_000),
    packed: kernel,
    central: { zippedSize: kernel.length + 10 },
    local: { zippedSize: kernel.length + 10 },
  }));
}
