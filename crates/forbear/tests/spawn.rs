//! What a server does: a task per request, around a client that hides behind a box.

use bytes::Bytes;
use forbear::{BoxError, Families, Vendor, body::Replay};
use http::{Request, Response};
use http_body_util::Full;
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

type Body = Full<Bytes>;
type Client = BoxCloneSyncService<Request<Replay<Body>>, Response<Body>, BoxError>;

fn vendor() -> Vendor<Client> {
    let client = |_: Request<Replay<Body>>| async { Ok::<_, BoxError>(Response::new(Full::default())) };
    let families = Families::builder().build().unwrap();
    forbear::stack(&families).service(BoxCloneSyncService::new(tower::service_fn(client)))
}

fn request() -> Request<Body> {
    Request::get("http://vendor.test/").body(Full::default()).unwrap()
}

#[tokio::test]
async fn a_task_may_send() {
    let vendor = vendor();
    let sent = tokio::spawn(async move { vendor.send(request()).await.unwrap().status() });
    assert_eq!(sent.await.unwrap(), 200);
}

#[tokio::test]
async fn a_task_may_make_ready_and_call() {
    let mut vendor = vendor();
    let called = tokio::spawn(async move {
        let ready = ServiceExt::<Request<Body>>::ready(&mut vendor).await.unwrap();
        ready.call(request()).await.unwrap().status()
    });
    assert_eq!(called.await.unwrap(), 200);
}
