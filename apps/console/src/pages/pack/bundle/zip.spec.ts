import { execFileSync } from 'node:child_process';
import { deflateRawSync } from 'node:zlib';
import { listInventory } from './send-draft';
import { readZip, makeZip, type ZipEntry } from './zip';

const encodeText = (text: string) => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
const readBytes = async (blob: Blob) => new Uint8Array(await blob.arrayBuffer());
const files: ZipEntry[] = [
  { path: 'main.py', content: encodeText('print("Grüße")\n'.repeat(50)) },
  { path: 'lib/ärzte.json', content: encodeText('{}') },
  { path: 'empty', content: encodeText('') },
];

describe('a bundle in the browser', () => {
  it('unpacking a zip returns the files that were packed', async () => {
    expect(await readZip(await readBytes(await makeZip(files)))).toEqual(files);
  });

  it('identical files make identical zips that are smaller than the files', async () => {
    const [one, other] = await Promise.all([makeZip(files), makeZip(files)]);
    expect(await readBytes(one)).toEqual(await readBytes(other));
    expect(one.size).toBeLessThan(700);
  });

  it('Python can read a zip that the browser made', async () => {
    const program =
      'import io,sys,zipfile; z=zipfile.ZipFile(io.BytesIO(sys.stdin.buffer.read())); assert not z.testzip(); ' +
      'print(*z.namelist(), sep="|")';
    const names = execFileSync('python3', ['-X', 'utf8', '-c', program], {
      input: await readBytes(await makeZip(files)),
    });
    expect(names.toString().trim()).toBe('main.py|lib/ärzte.json|empty');
  });

  it('a pack draft is sent with the size and digest of each file', async () => {
    const [inventory] = await listInventory([{ path: 'main.py', content: encodeText('x = 1\n') }]);
    expect(inventory).toEqual({
      path: 'main.py',
      size: 6,
      sha256: '9e26bf369911c45c243c684147b23fc9e1dcfcf257d299a1c632016a6fcd33f4',
    });
  });

  it.each([
    ['empty', encodeText('')],
    ['a text', encodeText('hello'.repeat(20))],
    ['half of a zip', encodeText('PK\x03\x04').slice(0, 4)],
  ])('a file that is %s is rejected as a bundle', async (_, bytes) => {
    await expect(readZip(bytes)).rejects.toMatchObject({ code: 'bundle_rejected' });
  });

  it('unpacking a file stops at the size that the zip states for the file', async () => {
    const honest = await readBytes(await makeZip([{ path: 'a', content: encodeText('a'.repeat(1000)) }]));
    const bomb = new Uint8Array(deflateRawSync(Buffer.alloc(1_000_000)));
    const view = new DataView(honest.buffer);
    const part = 30 + 1;
    const lying = new Uint8Array([...honest.slice(0, part), ...bomb, ...honest.slice(part + view.getUint32(18, true))]);
    const list = part + bomb.length;
    new DataView(lying.buffer).setUint32(list + 20, bomb.length, true);
    new DataView(lying.buffer).setUint32(lying.length - 6, list, true);
    await expect(readZip(lying)).rejects.toMatchObject({ message: 'a is damaged. Create the zip again.' });
  });
});
