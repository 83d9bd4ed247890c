"""Messages that writers write, of arrays and numbers: `FileWriter.add_summary` takes them."""

from gradwright.utils.tensorboard.loading import tensorboardx

audio = tensorboardx.summary.audio
custom_scalars = tensorboardx.summary.custom_scalars
histogram = tensorboardx.summary.histogram
histogram_raw = tensorboardx.summary.histogram_raw
hparams = tensorboardx.summary.hparams
image = tensorboardx.summary.image
image_boxes = tensorboardx.summary.image_boxes
mesh = tensorboardx.summary.mesh
pr_curve = tensorboardx.summary.pr_curve
pr_curve_raw = tensorboardx.summary.pr_curve_raw
scalar = tensorboardx.summary.scalar
text = tensorboardx.summary.text
video = tensorboardx.summary.video
