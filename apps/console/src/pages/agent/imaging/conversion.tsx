import { useQueryClient } from '@tanstack/react-query';
import { imagingImagesConvert, imagingImagesStatus } from '../../../api/generated';
import { useCommand } from '../../../parts/use-command';
import { ErrorNote, ErrorWithAdvice } from '../../../ui/error-note';
import { Field, Form, inputClass, TextField } from '../../../ui/form';
import { EmptyNote, Panel } from '../../../ui/page';
import { StatusMark } from '../../../ui/status-mark';
import { useUrlState } from '../../../ui/table/use-url-state';
import { EarlierCommands } from './earlier';
import { ConvertedImages } from './pictures';

/** Converts image files of a customer to images that a browser can show. */
export function ImageConversion({ agentId, mayAsk }: { agentId: string; mayAsk: boolean }) {
  const [{ imagesId }, change] = useUrlState();
  const client = useQueryClient();
  const showConversion = (id: string) => change({ imagesId: id });
  const answer = useCommand(agentId, imagesId, (commandId, signal) =>
    imagingImagesStatus({ path: { id: agentId }, query: { commandId }, signal }),
  );
  return (
    <Panel title="Images">
      <div className="grid gap-5 lg:grid-cols-[minmax(0,22rem)_minmax(0,1fr)]">
        <div className="flex min-w-0 flex-col gap-4">
          {mayAsk && (
            <Form
              submit="Convert images"
              onSubmit={(values) => {
                const names = values
                  .readExactText('images')
                  .split('\n')
                  .map((name) => name.trim())
                  .filter(Boolean);
                return imagingImagesConvert({
                  path: { id: agentId },
                  body: {
                    imagingPath: values.readText('imagingPath'),
                    patimageid: values.readNumber('patimageid') ?? 0,
                    images: names.map((filename, at) => ({ ordinal: at + 1, filename })),
                  },
                });
              }}
              onDone={({ commandId }) => {
                showConversion(commandId);
                void client.invalidateQueries({ queryKey: ['commands', agentId] });
              }}
            >
              <TextField
                label="Folder"
                name="imagingPath"
                hint="Path on the worker’s machine, or \\server\share\…"
                required
                autoComplete="off"
              />
              <TextField label="PATIMAGEID" name="patimageid" type="number" min={1} step={1} required />
              <Field label="Files" name="images" hint="One file name per line, at most 4,000.">
                {(control) => (
                  <textarea
                    {...control}
                    rows={6}
                    required
                    spellCheck={false}
                    className={`${inputClass} font-mono text-xs`}
                  />
                )}
              </Field>
            </Form>
          )}
          <EarlierCommands agentId={agentId} kind="imaging_images" shown={imagesId} show={showConversion} />
        </div>
        <div className="flex min-w-0 flex-col gap-3" aria-live="polite">
          {!imagesId && <EmptyNote title="The converted images appear here." />}
          {answer.isError && <ErrorNote error={answer.error} retry={() => void answer.refetch()} />}
          {answer.data && (
            <>
              <StatusMark status={answer.data.status} testId="images-status" />
              {answer.data.status === 'pending' && (
                <p className="text-dim">
                  The machine is converting the images. The timeline of the agent shows the progress.
                </p>
              )}
              {answer.data.status === 'failed' && <ErrorWithAdvice error={answer.data.error} code={answer.data.code} />}
              {answer.data.output && <ConvertedImages key={imagesId} output={answer.data.output} />}
            </>
          )}
        </div>
      </div>
    </Panel>
  );
}
