import { newId } from '@muster/platform';
import { FilmDesk, itFilms, seen } from './films.harness';

describe('a video', () => {
  let desk: FilmDesk;

  beforeAll(async () => {
    desk = await FilmDesk.start();
  });
  afterAll(() => desk.close());

  it.each(['video/webm;codecs=vp9', 'video/webm; codecs=vp8,opus', 'video/mp4; codecs="avc1.42E01E, mp4a.40.2"'])(
    'can be uploaded with the content type that a browser reports: %s',
    async (contentType) => {
      const { status, body } = await desk.tenant.api.post('/api/uploads', { contentType, size: 7 });
      expect(status).toBe(201);
      const { uploadUrl, method, headers } = body;
      expect((await fetch(uploadUrl, { method, headers, body: 'A video' })).status).toBe(200);
    },
  );

  itFilms('sends the model no recorded or typed secret, and stores its answer without invalid characters', async () => {
    const { model, machines, tenant, agentId, recorded, sendFilm, ended, workflow } = desk;
    const secret = 'Sesame-open-91';
    await tenant.as.admin.put('/api/vault/FILM_PASSWORD', { value: secret });
    model.secrets.push(secret);
    const recordingId = await recorded([
      { type: 'change', value: secret, selectors: [['aria/Password']] },
      ...Array.from({ length: 1500 }, () => ({ type: 'click', selectors: [[`aria/${'Next '.repeat(20)}`]] })),
    ]);
    const film = await sendFilm(2);
    const artifactId = newId();
    await machines.sql(
      `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       VALUES ($1, $2, $3, 'file', 'film.mkv', 'video/x-matroska', 1000, $4)`,
      [artifactId, tenant.organizationId, agentId, film],
    );
    await machines.sql('UPDATE recording SET artifact_id = $2 WHERE id = $1', [recordingId, artifactId]);
    const title = `a\0b\ud800${'😀'.repeat(300)}`;
    model.says({ json: { steps: [seen({ title, value: 'x' }), seen({ type: 'change', value: title.repeat(9) })] } });
    const done = await ended({ recordingId, hint: `The password is ${secret}.`, name: `x${'😀'.repeat(199)}` });
    expect(done).toMatchObject({ status: 'completed', frames: 2 });
    const [call] = model.calls;
    expect(call!.lastUserText).toContain('[secret]');
    expect(call!.lastUserText.length).toBeLessThan(80_000);
    expect(JSON.parse(call!.lastUserText).untrustedEvents.at(-1)).toEqual({ cut: expect.stringMatching(/more/) });
    const draft = await workflow(done.workflowId);
    expect(draft.steps[0].title.startsWith('ab\ufffd😀')).toBe(true);
    expect(draft.steps[0].title).not.toMatch(/\p{Surrogate}/u);
    expect(model.faults).toEqual([]);
  });
});
