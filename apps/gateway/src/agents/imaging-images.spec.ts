import { purgeOldImages, storeCommandResult, recordImagingProgress, requestImagingUploads } from '@muster/commands';
import { newId, Round } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import {
  type Harness,
  isLongRun,
  measureLongestTurn,
  makeAgent,
  maxTurnMs,
  startHarness,
  type Tenant,
} from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('imaging-images', () => {
  let harness: Harness;
  let tenant: Tenant;
  let otherTenant: Tenant;
  let agentId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    [tenant, otherTenant] = [await harness.makeTenant(), await harness.makeTenant()];
  });
  beforeEach(async () => {
    agentId = await makeOnline();
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => harness.close());

  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);
  const getStorage = () => harness.app.nest.get(ObjectStorage);
  const makeOnline = async (organizationId = tenant.organizationId) =>
    (await makeAgent(harness.db, { organizationId, name: newId(), status: 'online' })).id;
  const buildConversionBody = (more: object = {}) => ({
    imagingPath: '\\\\server\\images\\771400917',
    patimageid: 771400917,
    images: [
      { ordinal: 3, filename: 'Doe Jane.dex' },
      { ordinal: 1, filename: 'b.tif' },
    ],
    ...more,
  });
  const requestConversion = (input: object = buildConversionBody(), client = tenant.api) =>
    client.post(`/api/agents/${agentId}/imaging-images`, input);
  const startConversion = async (input?: object) => (await requestConversion(input)).body.commandId as string;
  const requestStatus = (commandId: string, client = tenant.as.viewer) =>
    client.get(`/api/agents/${agentId}/imaging-images/status?commandId=${commandId}`);
  const buildCommandRef = (commandId: string) => ({ organizationId: tenant.organizationId, agentId, commandId });
  const reportResult = (commandId: string, outcome: object) =>
    storeCommandResult(harness.db, buildCommandRef(commandId), { status: 'success', ...outcome } as never);
  const uploadImage = async (commandId: string, name: 'full' | 'thumbnail', ordinal: number, bytes: Buffer) => {
    const objects = [{ name, ordinal, size: bytes.length }];
    const { uploads } = await requestImagingUploads(
      harness.db,
      getStorage(),
      buildCommandRef(commandId),
      objects,
      new Date(),
    );
    const { uploadUrl, method, headers, key } = uploads[0]!;
    expect((await fetch(uploadUrl, { method, headers, body: new Uint8Array(bytes) })).status).toBe(200);
    return key;
  };

  it('an imaging-images request creates a command and returns at once with the URL of its status', async () => {
    const answer = await requestConversion();
    const { commandId } = answer.body;
    expect([answer.status, answer.body]).toEqual([202, { commandId: expect.any(String) }]);
    expect(answer.headers.get('location')).toBe(`/api/agents/${agentId}/imaging-images/status?commandId=${commandId}`);
    expect((await requestStatus(commandId)).body).toEqual({ status: 'pending' });
    const [row] = await querySql('SELECT kind, payload, deadline, created_at FROM agent_command WHERE id = $1', [
      commandId,
    ]);
    expect([row.kind, row.payload]).toEqual(['imaging_images', buildConversionBody()]);
    expect(Math.round((row.deadline - row.createdAt) / 60_000)).toBe(15);
  });

  const wrong: [string, object][] = [
    ['no images', buildConversionBody({ images: [] })],
    ['4,001 images', buildConversionBody({ images: buildNumberedImages(4001) })],
    ['images that are not a list', buildConversionBody({ images: {} })],
    [
      'a repeated ordinal',
      buildConversionBody({ images: [...buildNumberedImages(3), { ordinal: 2, filename: 'other.dex' }] }),
    ],
    ['an ordinal below 0', buildConversionBody({ images: [{ ordinal: -1, filename: 'a.dex' }] })],
    ['a fractional ordinal', buildConversionBody({ images: [{ ordinal: 1.5, filename: 'a.dex' }] })],
    ['an ordinal as text', buildConversionBody({ images: [{ ordinal: '1', filename: 'a.dex' }] })],
    ['an image without a name', buildConversionBody({ images: [{ ordinal: 1 }] })],
    ...['', '.', '..', '../a', 'a/b', 'a\\b', '/a', 'a..b/', `a${String.fromCharCode(0)}b`, 'x'.repeat(256)].map(
      (filename): [string, object] => [
        `the name ${JSON.stringify(filename).slice(0, 20)}`,
        buildBodyWithFile(filename),
      ],
    ),
    ['a patient id as text', buildConversionBody({ patimageid: '771400917' })],
    ['no patient id', buildConversionBody({ patimageid: undefined })],
    ['a patient id below 1', buildConversionBody({ patimageid: 0 })],
    ['a patient id that is not a safe integer', buildConversionBody({ patimageid: 2 ** 60 })],
    ['no path', buildConversionBody({ imagingPath: undefined })],
    ['an empty path', buildConversionBody({ imagingPath: '' })],
    ['a path of spaces', buildConversionBody({ imagingPath: '  ' })],
    ['a path of 1,025 characters', buildConversionBody({ imagingPath: 'x'.repeat(1025) })],
    ['an unknown field', buildConversionBody({ more: true })],
  ];
  it.each(wrong)('an imaging-images request with %s is refused and creates no command', async (_, input) => {
    const answer = await requestConversion(input);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_payload']);
    expect(await querySql('SELECT id FROM agent_command WHERE agent_id = $1', [agentId])).toEqual([]);
  });

  it('an imaging-images request may have 4,000 images and file names with spaces and punctuation', async () => {
    expect((await requestConversion(buildConversionBody({ images: buildNumberedImages(4000) }))).status).toBe(202);
    expect((await requestConversion(buildBodyWithFile('Größe & 1 (Kopie).DEX'))).status).toBe(202);
  });

  it('an imaging-images request is refused for viewers and hidden from other organizations', async () => {
    expect((await requestConversion(buildConversionBody(), tenant.as.viewer)).status).toBe(403);
    expect((await requestConversion(buildConversionBody(), otherTenant.api)).status).toBe(404);
    const commandId = await startConversion();
    expect((await requestStatus(commandId, otherTenant.as.admin)).status).toBe(404);
    const other = await makeOnline();
    expect((await tenant.api.get(`/api/agents/${other}/imaging-images/status?commandId=${commandId}`)).status).toBe(
      404,
    );
  });

  it('only the imaging-images route returns the imaging-images status, and only for imaging-images commands', async () => {
    const snippet = (await tenant.api.post(`/api/agents/${agentId}/run-snippet`, { code: 'print(1)' })).body.commandId;
    expect((await requestStatus(snippet)).status).toBe(404);
    expect((await requestStatus(newId())).status).toBe(404);
    const path = `/api/agents/${agentId}/run-snippet/status?commandId=${await startConversion()}`;
    expect((await tenant.api.get(path)).status).toBe(404);
  });

  it('every uploaded file of an image conversion is served as an image, whatever it contains', async () => {
    const commandId = await startConversion();
    const page = Buffer.from('\xff\xd8\xff\xe0<!doctype html><script>alert(1)</script>PK\x03\x04', 'latin1');
    for (const name of ['full', 'thumbnail'] as const) await uploadImage(commandId, name, 3, page);
    await reportResult(commandId, { output: { images: [{ ordinal: 3, width: 20, height: 10, bytes: page.length }] } });
    const [image] = (await requestStatus(commandId)).body.output.images;
    for (const url of [image.fullUrl, image.thumbnailUrl]) {
      const { headers } = await fetch(url);
      expect([headers.get('content-type'), headers.get('x-content-type-options')]).toEqual(['image/jpeg', 'nosniff']);
      // A client that uses the signed URL can also not request another content type with a parameter.
      const otherwise = await fetch(url.replace(/response-content-type=[^&]*/, 'response-content-type=text%2Fhtml'));
      expect(otherwise.status).toBe(403);
    }
  });

  it('the result of an image conversion has URLs of converted images and reasons of failed images', async () => {
    const commandId = await startConversion();
    const pictures = { full: Buffer.from('the picture'), thumbnail: Buffer.from('a small one') };
    const keys = {
      full: await uploadImage(commandId, 'full', 3, pictures.full),
      thumbnail: await uploadImage(commandId, 'thumbnail', 3, pictures.thumbnail),
    };
    const prefix = `imaging/771400917/${tenant.organizationId}/${commandId}/3`;
    expect(keys).toEqual({ full: `${prefix}-full.jpg`, thumbnail: `${prefix}-thumb.jpg` });
    const failed = { ordinal: 1, code: 'damaged', error: 'the file ends within its pixels' };
    await reportResult(commandId, { output: { images: [failed, { ordinal: 3, width: 20, height: 10, bytes: 11 }] } });
    const { body: status } = await requestStatus(commandId);
    expect(status).toEqual({
      status: 'success',
      output: {
        patimageid: 771400917,
        converted: 1,
        failed: 1,
        images: [
          {
            ...{ ordinal: 3, filename: 'Doe Jane.dex', width: 20, height: 10, bytes: 11 },
            ...{ fullKey: keys.full, thumbnailKey: keys.thumbnail },
            ...{ fullUrl: expect.any(String), thumbnailUrl: expect.any(String) },
          },
          {
            ...{ ...failed, filename: 'b.tif', fullKey: null, thumbnailKey: null, fullUrl: null, thumbnailUrl: null },
            ...{ width: null, height: null, bytes: null },
          },
        ],
      },
    });
    const [image] = status.output.images;
    const read = await fetch(image.fullUrl);
    expect([await read.text(), read.headers.get('content-type')]).toEqual(['the picture', 'image/jpeg']);
    expect(await (await fetch(image.thumbnailUrl)).text()).toBe('a small one');
    expect(Number(new URL(image.fullUrl).searchParams.get('X-Amz-Expires'))).toBe(3600);

    jest.spyOn(getStorage(), 'presignGet').mockRejectedValue(new Error('no credentials'));
    const unsigned = (await requestStatus(commandId)).body.output.images[0];
    expect(unsigned).toMatchObject({ fullKey: keys.full, fullUrl: null, thumbnailUrl: null });
  });

  it('an image conversion that converted no image fails with the reason for each image', async () => {
    const commandId = await startConversion();
    const reported = [1, 3].map((ordinal) => ({ ordinal, code: 'not_found', error: 'there is no such file' }));
    const error = 'none of 2 images could be converted';
    await reportResult(commandId, {
      status: 'failed',
      code: 'no_image_converted',
      error,
      output: { images: reported },
    });
    const { body: status } = await requestStatus(commandId);
    expect(status).toMatchObject({ status: 'failed', code: 'no_image_converted', error });
    expect(status.output.images.map(({ code }: { code: string }) => code)).toEqual(['not_found', 'not_found']);
    expect([status.output.converted, status.output.failed]).toEqual([0, 2]);
  });

  it('an image conversion accepts no object keys and no unrequested images from the worker', async () => {
    const commandId = await startConversion();
    const images = [
      { ordinal: 3, width: 5, height: 5, bytes: 5, fullKey: 'imaging/1/stolen.jpg', filename: 'other' },
      { ordinal: 1, width: -5, height: 'x', bytes: 5 },
      { ordinal: 99, width: 5, height: 5, bytes: 5 },
      null,
    ];
    await reportResult(commandId, { output: { images } });
    const { output } = (await requestStatus(commandId)).body;
    expect(output.images.map(({ ordinal }: { ordinal: number }) => ordinal)).toEqual([3, 1]);
    expect(output.images[0].fullKey).toBe(`imaging/771400917/${tenant.organizationId}/${commandId}/3-full.jpg`);
    expect(output.images[1]).toMatchObject({ fullKey: null, code: 'damaged' });
    const odd = await startConversion();
    await reportResult(odd, { output: 'no JSON' });
    expect((await requestStatus(odd)).body).toEqual({ status: 'success' });
  });

  // The processor time of the response is checked only in the long form, which does not run on a busy machine.
  it('an image conversion stores 4,000 results and returns them without blocking other requests', async () => {
    const names = buildNumberedImages(4000).map((image) => ({
      ...image,
      filename: `${'ü'.repeat(240)}${image.ordinal}.dex`,
    }));
    const commandId = await startConversion(buildConversionBody({ images: names }));
    const images = buildNumberedImages(4000).map(({ ordinal }) =>
      ordinal % 2
        ? { ordinal, width: 65_000, height: 1500, bytes: 104_857_600 }
        : { ordinal, code: 'path_not_allowed', error: 'x'.repeat(120) },
    );
    await reportResult(commandId, { output: { images } });
    const { output } = (await requestStatus(commandId)).body;
    expect([output.converted, output.failed]).toEqual([2000, 2000]);
    if (!isLongRun()) return;
    const turn = await measureLongestTurn(() => requestStatus(commandId), 2);
    process.stdout.write(`the response for 4,000 images blocked other requests for ${turn.toFixed(0)} ms at most\n`);
    expect(turn).toBeLessThan(maxTurnMs);
  });

  it('upload URLs of an image conversion are signed only for its own images and until it ends', async () => {
    const commandId = await startConversion();
    const requestUploads = (objects: object[], target = buildCommandRef(commandId)) =>
      requestImagingUploads(harness.db, getStorage(), target, objects as never, new Date());
    const readRefusalCode = (work: Promise<unknown>) => work.then(null, ({ code }: { code: string }) => code);
    const full = { name: 'full', ordinal: 1, size: 10 };
    expect(await readRefusalCode(requestUploads([{ ...full, ordinal: 2 }]))).toBe('invalid_payload');
    expect(await readRefusalCode(requestUploads([{ name: 'full', size: 10 }]))).toBe('invalid_payload');
    expect(await readRefusalCode(requestUploads([{ name: 'composite', size: 10 }]))).toBe('invalid_payload');
    expect(await readRefusalCode(requestUploads([{ ...full, size: 101 * 2 ** 20 }]))).toBe('payload_too_large');
    expect(
      await readRefusalCode(requestUploads([full], { ...buildCommandRef(commandId), agentId: await makeOnline() })),
    ).toBe('not_found');
    const otherClient = { ...buildCommandRef(commandId), organizationId: otherTenant.organizationId };
    expect(await readRefusalCode(requestUploads([full], otherClient))).toBe('not_found');
    expect(await querySql('SELECT id FROM artifact WHERE agent_id = $1', [agentId])).toEqual([]);
    await requestUploads([full]);
    await requestUploads([{ ...full, size: 12 }]);
    expect(await querySql('SELECT size::int, filename FROM artifact WHERE agent_id = $1', [agentId])).toEqual([
      { size: 12, filename: '1-full.jpg' },
    ]);
    await reportResult(commandId, { output: { images: [] } });
    expect(await readRefusalCode(requestUploads([full]))).toBe('conflict');
  });

  it('the timeline shows the progress of an image conversion in numbers, without patients or file names', async () => {
    const commandId = await startConversion();
    await uploadImage(commandId, 'full', 3, Buffer.from('x'));
    expect(
      await recordImagingProgress(harness.db, buildCommandRef(commandId), { done: 1, failed: 1, total: 2 }),
    ).toEqual({
      accepted: true,
    });
    await reportResult(commandId, { output: { images: [] } });
    const late = await recordImagingProgress(harness.db, buildCommandRef(commandId), { done: 2, failed: 1, total: 2 });
    expect(late.accepted).toBe(false);
    const { entries } = (await tenant.api.get(`/api/agents/${agentId}/logs?order=asc`)).body;
    expect(entries.map(({ message }: { message: string }) => message)).toEqual([
      expect.stringMatching(/^imaging_images was requested by/),
      'imaging_images: 1 of 2 images are done, 1 failed',
      'imaging_images is done',
    ]);
    const audit = (await tenant.as.admin.get('/api/audit')).body;
    const trail = audit.entries.filter(({ target }: { target: { id: string } }) => target.id === agentId);
    expect(trail.map(({ action }: { action: string }) => action)).toEqual(['agent.run_imaging_images']);
    const artifacts = (await tenant.api.get(`/api/artifacts?agentId=${agentId}`)).body;
    expect(artifacts.artifacts).toMatchObject([{ kind: 'image', filename: '3-full.jpg', contentType: 'image/jpeg' }]);
    for (const written of [entries, trail, artifacts, harness.logs]) {
      expect(JSON.stringify(written)).not.toMatch(/Doe|Jane|771400917/);
    }
  });

  it('converted images are deleted after their retention period, with retries of a failed deletion', async () => {
    const [old, young] = [await startConversion(), await startConversion()];
    const keys = [
      await uploadImage(old, 'full', 3, Buffer.from('o')),
      await uploadImage(young, 'full', 3, Buffer.from('y')),
    ];
    await querySql(`UPDATE artifact SET created_at = now() - interval '91 days' WHERE storage_key = $1`, [keys[0]]);
    const purgeImages = (now = new Date()) =>
      purgeOldImages({ database: harness.db, storage: getStorage() }, new Round('test'), now);
    jest.spyOn(getStorage(), 'delete').mockRejectedValueOnce(new Error('the store is away'));
    await purgeImages();
    expect(await getStorage().get(keys[0]!)).not.toBeNull();
    expect(await querySql('SELECT id FROM artifact WHERE storage_key = $1', [keys[0]])).toHaveLength(1);
    expect(await purgeImages()).toEqual({ pictures: 1 });
    expect([await getStorage().get(keys[0]!), (await getStorage().get(keys[1]!))?.toString()]).toEqual([null, 'y']);
    const left = await querySql('SELECT storage_key FROM artifact WHERE agent_id = $1', [agentId]);
    expect(left).toEqual([{ storageKey: keys[1] }]);
  });

  function buildBodyWithFile(filename: string) {
    return buildConversionBody({ images: [{ ordinal: 1, filename }] });
  }
});

function buildNumberedImages(count: number) {
  return Array.from({ length: count }, (_, at) => ({ ordinal: at + 1, filename: `${at + 1}.dex` }));
}
