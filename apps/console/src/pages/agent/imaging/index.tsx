import { ImagingComposite } from './composite';
import { ImageConversion } from './conversion';

/** Dental images on this machine: a composite of one patient's teeth, and converted image files. */
export function Imaging({ agentId, mayAsk }: { agentId: string; mayAsk: boolean }) {
  return (
    <>
      <ImagingComposite agentId={agentId} mayAsk={mayAsk} />
      <ImageConversion agentId={agentId} mayAsk={mayAsk} />
    </>
  );
}
