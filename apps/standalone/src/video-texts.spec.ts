import { newId } from '@muster/platform';
import { itWithFfmpeg, makeModelStep, VideoFixture } from './video.harness';

describe('a video', () => {
  let fixture: VideoFixture;

  beforeAll(async () => {
    fixture = await VideoFixture.start();
  });
  afterAll(() => fixture.close());

  it.each(['video/webm;codecs=vp9', 'video/webm; codecs=vp8,opus', 'video/mp4; codecs="avc1.42E01E, mp4a.40.2"'])(
    'a video can be uploaded with the content type that a browser reports: %s',
    async (contentType) => {
      const { status, body } = await fixture.tenant.api.post('/api/uploads', { contentType, size: 7 });
      expect(status).toBe(201);
      const { uploadUrl, method, headers } = body;
      expect((await fetch(uploadUrl, { method, headers, body: 'A video' })).status).toBe(200);
    },
  );

  itWithFfmpeg(
    'a video analysis sends the model no secret, and stores its answer without invalid characters',
    async () => {
      const {
        model,
        machines,
        tenant,
        agentId,
        insertRecording,
        uploadVideo,
        waitForAnalysis: ended,
        readWorkflow: workflow,
      } = fixture;
      const secret = 'Sesame-open-91';
      await tenant.as.admin.put('/api/vault/FILM_PASSWORD', { value: secret });
      model.secrets.push(secret);
      const recordingId = await insertRecording([
        { type: 'change', value: secret, selectors: [['aria/Password']] },
        ...Array.from({ length: 1500 }, () => ({ type: 'click', selectors: [[`aria/${'Next '.repeat(20)}`]] })),
      ]);
      const video = await uploadVideo(2);
      const artifactId = newId();
      await machines.querySql(
        `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
       VALUES ($1, $2, $3, 'file', 'video.mkv', 'video/x-matroska', 1000, $4)`,
        [artifactId, tenant.organizationId, agentId, video],
      );
      await machines.querySql('UPDATE recording SET artifact_id = $2 WHERE id = $1', [recordingId, artifactId]);
      const title = `a\0b\ud800${'😀'.repeat(300)}`;
      model.addResponses({
        json: {
          steps: [makeModelStep({ title, value: 'x' }), makeModelStep({ type: 'change', value: title.repeat(9) })],
        },
      });
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
    },
  );
});
